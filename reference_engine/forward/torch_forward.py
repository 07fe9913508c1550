"""The forward pass over pages with stock torch: the Llama family (Llama, Mistral, Qwen2, Qwen3) under every profile."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from reference_engine.forward.arithmetic import Arithmetic, Matrix
from reference_engine.forward.batch import PAGE, Asked, Batch, ReadOut
from reference_engine.forward.head import TILE, Head
from reference_engine.forward.order import CANONICAL, Order
from reference_engine.forward.paged_attention import PagedAttention, tile_groups
from reference_engine.forward.pages import Record, Runs
from reference_engine.model.config import ModelConfig
from reference_engine.model.groups import layer_groups, places_of_layers
from reference_engine.model.rope import cos_sin
from reference_engine.model.tensors import LayerWeights, ModelWeights
from reference_engine.ops import cpu as ops
from reference_engine.ops.integer import Int8Matrix
from reference_engine.ops.steady import steady_row_multiple
from reference_engine.profile import NumericsProfile
from reference_engine.sample import Draw, sample


@dataclass(frozen=True, slots=True)
class _Matrices:
    """The linear layers of one block, as the profile's arithmetic takes them."""

    qkv: Matrix
    output: Matrix
    gate_up: Matrix
    down: Matrix

    @staticmethod
    def of(layer: LayerWeights, profile: NumericsProfile) -> _Matrices:
        stored = (layer.qkv, layer.output, layer.gate_up, layer.down)
        if profile.activations == "int8-row":
            return _Matrices(*(Int8Matrix.of(weight) for weight in stored))
        return _Matrices(*stored)


def _probed(weights: ModelWeights) -> list[Tensor]:
    """One matrix of each shape."""
    layer = weights.layers[0]
    return [layer.qkv, layer.output, layer.gate_up, layer.down, weights.head[:TILE]]


@dataclass(frozen=True, slots=True)
class _Pass:
    """What every layer of one forward pass shares."""

    count: int
    cos: Tensor
    sin: Tensor
    records: list[Runs]  # of each layer group
    attention: list[PagedAttention]


class TorchForward:
    """Implements Forward over `arena`, for `weights` as WeightStore gives them under `profile`.

    Rows are padded to a multiple of `row_multiple` (by default, what a few products of this machine ask for), so that a
    row has the same bits in any batch where the processor's matrix products allow it: `self_test` says whether they do.
    Under the profile fp64 hidden states and everything read of them are float64.
    """

    @torch.inference_mode()
    def __init__(
        self,
        config: ModelConfig,
        weights: ModelWeights,
        profile: NumericsProfile,
        arena: NDArray[np.uint8],
        *,
        row_multiple: int | None = None,
        order: Order = CANONICAL,
    ) -> None:
        self._config = config
        self._weights = weights
        self._arena = torch.from_numpy(arena)
        self._arithmetic = Arithmetic(profile, config.rms_eps, order)
        self._row_multiple = row_multiple or steady_row_multiple(_probed(weights), self._arithmetic.dtype)
        self._record = Record(config, profile.kv)
        self._matrices = [_Matrices.of(layer, profile) for layer in weights.layers]
        self._windows = [group.window for group in layer_groups(config)]
        self._places = places_of_layers(config)
        self._frequencies = weights.rope_frequencies.to(self._arithmetic.dtype)
        self._head = Head(weights.head, self._arithmetic, self._row_multiple, oracle=profile.oracle)

    def first_layers(self, count: int) -> TorchForward:
        shorter = copy(self)
        shorter._weights = replace(self._weights, layers=self._weights.layers[:count])
        shorter._matrices = self._matrices[:count]
        return shorter

    @torch.inference_mode()
    def hidden(self, batch: Batch) -> NDArray[np.float32]:
        shared = self._pass(batch)
        ids = ops.with_padding(torch.from_numpy(batch.ids), self._row_multiple)
        x = functional.embedding(ids, self._weights.embedding).to(self._arithmetic.dtype)
        for index, (layer, matrices) in enumerate(zip(self._weights.layers, self._matrices, strict=True)):
            x = self._arithmetic.add(self._attention(index, layer, matrices, x, shared), x)
            x = self._arithmetic.add(self._feed_forward(layer, matrices, x), x)
        final: NDArray[np.float32] = self._arithmetic.norm(x, self._weights.final_norm).numpy()
        return final[batch.read]

    @torch.inference_mode()
    def logits(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        logits: NDArray[np.float32] = self._head.logits(torch.from_numpy(hidden)).numpy()
        return logits

    @torch.inference_mode()
    def read_out(self, hidden: NDArray[np.float32], asked: Asked) -> ReadOut:
        return self._head.read_out(torch.from_numpy(hidden), asked)

    @torch.inference_mode()
    def read_logits(self, logits: NDArray[np.float32], asked: Asked) -> ReadOut:
        return self._head.read_logits(torch.from_numpy(logits), asked)

    def sample(self, logits: NDArray[np.float32], draws: Sequence[Draw]) -> list[int]:
        return [
            sample(
                row.astype(np.float64),
                temperature=draw.temperature,
                top_p=draw.top_p,
                seed=draw.seed,
                position=draw.position,
            )
            for row, draw in zip(logits, draws, strict=True)
        ]

    def _pass(self, batch: Batch) -> _Pass:
        order, record = self._arithmetic.order, self._record
        cos, sin = cos_sin(self._frequencies, torch.from_numpy(batch.positions))
        records, attention = [], []
        for table, window in zip(batch.tables, self._windows, strict=True):
            places = table[batch.owners, batch.positions // PAGE] + (batch.positions % PAGE) * record.size
            records.append(Runs.at(self._arena, places, record.size, PAGE * record.size))
            tiles = tile_groups(batch, table, window, self._arena, record, order.key_block)
            attention.append(PagedAttention(self._config, self._arithmetic, tiles, record, self._row_multiple))
        return _Pass(len(batch.ids), cos, sin, records, attention)

    def _attention(self, index: int, layer: LayerWeights, matrices: _Matrices, x: Tensor, shared: _Pass) -> Tensor:
        group, place = self._places[index]
        arithmetic, config = self._arithmetic, self._config
        joined = arithmetic.linear(arithmetic.norm(x, layer.attn_norm), matrices.qkv, layer.qkv_bias)[: shared.count]
        parts = torch.split(joined, [config.q_size, config.kv_size, config.kv_size], dim=-1)
        q, k, v = (part.reshape(shared.count, -1, config.head_dim) for part in parts)
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = arithmetic.norm(q, layer.q_norm), arithmetic.norm(k, layer.k_norm)
        q, k = (arithmetic.rotate(part, shared.cos, shared.sin) for part in (q, k))
        shared.records[group].write(place, self._record.pack(k, v))
        mixed = arithmetic.round(shared.attention[group].mixed(place, q).flatten(1))
        return arithmetic.sharded_linear(
            ops.with_padding(mixed, self._row_multiple), matrices.output, layer.output_bias
        )

    def _feed_forward(self, layer: LayerWeights, matrices: _Matrices, x: Tensor) -> Tensor:
        gate_up = self._arithmetic.linear(self._arithmetic.norm(x, layer.ffn_norm), matrices.gate_up)
        return self._arithmetic.sharded_linear(self._arithmetic.gated(gate_up), matrices.down)
