"""The forward pass of the Llama family (Llama, Mistral, Qwen2, Qwen3), one table-driven decoder in float32.

A profile whose activations are `bf16` rounds at the points where a bf16 stack stores a value: after each linear layer,
norm, rotation, attention output, activation, product and residual sum, and in the KV cache. Sums stay in float32.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from reference_engine.kv import KVCache
from reference_engine.model.config import ModelConfig
from reference_engine.model.rope import cos_sin
from reference_engine.ops import cpu as ops
from reference_engine.profile import NumericsProfile, ValueFormat


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Weights of one block, [out, in]; query, key and value rows are joined, so are gate and up rows."""

    attn_norm: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    q_norm: Tensor | None
    k_norm: Tensor | None
    output: Tensor
    output_bias: Tensor | None
    ffn_norm: Tensor
    gate_up: Tensor
    down: Tensor


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """All weights of a decoder. `head` is the embedding itself where the model ties them."""

    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Tensor
    rope_frequencies: Tensor


@dataclass(frozen=True, slots=True)
class Rows:
    """The tokens of one forward pass, flat, in any order within a slot's ascending positions.

    `slots` and `positions` [rows] say which sequence a token belongs to and where it stands; `grid` [slots, width]
    holds for each slot the indexes of its rows, filled up with 0, and `columns` [rows] each row's place in its slot.
    """

    ids: Tensor
    slots: Tensor
    positions: Tensor
    columns: Tensor
    grid: Tensor

    @staticmethod
    def of(sequences: list[list[int]], starts: list[int]) -> Rows:
        """Rows for the tokens of each slot, the first of which stands at `starts[slot]`."""
        lengths = [len(sequence) for sequence in sequences]
        first = [sum(lengths[:slot]) for slot in range(len(lengths))]
        width = max(lengths)
        grid = [list(range(at, at + n)) + [0] * (width - n) for at, n in zip(first, lengths, strict=True)]
        columns = [column for n in lengths for column in range(n)]
        slots = [slot for slot, n in enumerate(lengths) for _ in range(n)]
        positions = [starts[slot] + column for slot, column in zip(slots, columns, strict=True)]
        ids = [token for sequence in sequences for token in sequence]
        return Rows(*(torch.tensor(values) for values in (ids, slots, positions, columns, grid)))


@dataclass(frozen=True, slots=True)
class _Pass:
    """What every layer of one forward pass shares."""

    rows: Rows
    cache: KVCache
    cos: Tensor
    sin: Tensor
    grid_positions: Tensor


class Decoder:
    """A model under one profile. Its methods read the weights only, so that one decoder serves many threads.

    Hidden states carry a few rows of padding, so that a row has the same bits in any batch where the processor allows
    it (see ops.cpu.ROW_MULTIPLE).
    """

    def __init__(self, config: ModelConfig, weights: ModelWeights, profile: NumericsProfile) -> None:
        self.config = config
        self.profile = profile
        self._weights = weights

    @torch.inference_mode()
    def forward(self, rows: Rows, cache: KVCache) -> Tensor:
        """Runs the rows, writing their keys and values; returns the final hidden states [rows, hidden]."""
        count = rows.ids.shape[0]
        x = functional.embedding(ops.with_padding(rows.ids), self._weights.embedding)
        cos, sin = cos_sin(self._weights.rope_frequencies, rows.positions)
        shared = _Pass(rows, cache, cos, sin, rows.positions[rows.grid])
        for index, layer in enumerate(self._weights.layers):
            x = self._round(self._attention(index, layer, x, shared).add_(x))
            x = self._round(self._feed_forward(layer, x).add_(x))
        return self._norm(x, self._weights.final_norm)[:count]

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """[rows, vocabulary] for final hidden states [rows, hidden]."""
        return self._linear(ops.with_padding(hidden), self._weights.head)[: hidden.shape[0]]

    def _attention(self, index: int, layer: LayerWeights, x: Tensor, shared: _Pass) -> Tensor:
        rows, config = shared.rows, self.config
        count, heads = rows.ids.shape[0], (-1, config.head_dim)
        joined = self._linear(self._norm(x, layer.attn_norm), layer.qkv, layer.qkv_bias)[:count]
        q, k, v = torch.split(joined, [config.q_size, config.kv_size, config.kv_size], dim=-1)
        q, k, v = (part.reshape(count, *heads) for part in (q, k, v))
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = self._norm(q, layer.q_norm), self._norm(k, layer.k_norm)
        q, k = (self._round(ops.rotate(part, shared.cos, shared.sin)) for part in (q, k))
        shared.cache.write(index, rows.slots, rows.positions, self._to_kv(k), self._to_kv(v))
        mixed = ops.attend(q[rows.grid], *shared.cache.layer(index), shared.grid_positions)
        flat = self._round(mixed[rows.slots, rows.columns].flatten(1))
        return self._linear(ops.with_padding(flat), layer.output, layer.output_bias)

    def _feed_forward(self, layer: LayerWeights, x: Tensor) -> Tensor:
        gate, up = self._linear(self._norm(x, layer.ffn_norm), layer.gate_up).chunk(2, dim=-1)
        return self._linear(self._round(self._round(ops.silu(gate)).mul_(up)), layer.down)

    def _linear(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return self._round(ops.linear(x, weight, bias))

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return self._round(ops.rms_norm(x, weight, self.config.rms_eps))

    def _round(self, x: Tensor) -> Tensor:
        return rounded(x, self.profile.activations)

    def _to_kv(self, x: Tensor) -> Tensor:
        return rounded(x, self.profile.kv)


def rounded(x: Tensor, to: ValueFormat) -> Tensor:
    """`x` in float32, each value rounded to the nearest one of the format."""
    return x if to == "fp32" else x.to(torch.bfloat16).float()
