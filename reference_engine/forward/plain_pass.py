"""A pass in stock torch over the kernels' pages, in whatever order of sums is quickest for the rows at hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from reference_engine.forward.arithmetic import Arithmetic
from reference_engine.forward.batch import PAGE, Batch
from reference_engine.forward.pages import Runs
from reference_engine.model.config import ModelConfig
from reference_engine.model.rope import cos_sin
from reference_engine.model.tensors import LayerWeights, ModelWeights
from reference_engine.native.library import padded
from reference_engine.ops.integer import LARGEST, Int8Matrix
from reference_engine.profile import NumericsProfile

_Product = Callable[[Tensor], Tensor]


class PlainPass:
    """For models whose layers all look at every key before, under profiles whose values are float32 between layers."""

    @torch.inference_mode()
    def __init__(self, config: ModelConfig, weights: ModelWeights, profile: NumericsProfile) -> None:
        self._config = config
        self._weights = weights
        self._arithmetic = Arithmetic(profile, config.rms_eps)
        self._layers = [_Layer.of(layer, profile) for layer in weights.layers]
        self._held = torch.bfloat16 if profile.kv == "bf16" else torch.float32

    @torch.inference_mode()
    def hidden(self, batch: Batch, arena: NDArray[np.uint8]) -> NDArray[np.float32]:
        """As Forward's, over `arena`."""
        arithmetic, pages = self._arithmetic, _Pages(self._config, torch.from_numpy(arena), self._held)
        turns = cos_sin(self._weights.rope_frequencies, torch.from_numpy(batch.positions))
        places, groups = pages.places(batch), list(_groups(batch, pages))
        x = functional.embedding(torch.from_numpy(batch.ids), self._weights.embedding)
        for index, (weights, layer) in enumerate(zip(self._weights.layers, self._layers, strict=True)):
            q, *new = self._heads(weights, layer.qkv(arithmetic.norm(x, weights.attn_norm)), *turns)
            k, v = (each.to(self._held) for each in new)
            pages.write(index, places, k, v)
            x += layer.output(_mixed(index, groups, q, k.float(), v.float()).flatten(1))
            x += layer.down(arithmetic.gated(layer.gate_up(arithmetic.norm(x, weights.ffn_norm))))
        final: NDArray[np.float32] = arithmetic.norm(x[torch.from_numpy(batch.read)], self._weights.final_norm).numpy()
        return final

    def _heads(self, weights: LayerWeights, joined: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [rows, heads, head_dim], turned."""
        config = self._config
        parts = torch.split(joined, [config.q_size, config.kv_size, config.kv_size], dim=-1)
        q, k, v = (torch.unflatten(part, 1, (-1, config.head_dim)) for part in parts)
        if weights.q_norm is not None and weights.k_norm is not None:
            q, k = self._arithmetic.norm(q, weights.q_norm), self._arithmetic.norm(k, weights.k_norm)
        return self._arithmetic.rotate(q, cos, sin), self._arithmetic.rotate(k, cos, sin), v


@dataclass(frozen=True, slots=True)
class _Layer:
    qkv: _Product
    output: _Product
    gate_up: _Product
    down: _Product

    @staticmethod
    def of(layer: LayerWeights, profile: NumericsProfile) -> _Layer:
        product = _int8_product if profile.activations == "int8-row" else _float_product
        return _Layer(
            product(layer.qkv, layer.qkv_bias),
            product(layer.output, layer.output_bias),
            product(layer.gate_up, None),
            product(layer.down, None),
        )


def _float_product(weight: Tensor, bias: Tensor | None) -> _Product:
    """By oneDNN with the weights laid out for it beforehand, as a compiled model has them."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return lambda x: functional.linear(x, weight, bias)
    ready = torch.ops.mkldnn._reorder_linear_weight(weight)
    return lambda x: torch.ops.mkldnn._linear_pointwise(x, ready, bias, "none", [], "")


def _int8_product(weight: Tensor, bias: Tensor | None) -> _Product:
    matrix = Int8Matrix.of(weight)
    codes, smallest = matrix.values.to(torch.int8).t(), torch.finfo(torch.float32).tiny

    def product(x: Tensor) -> Tensor:
        scales = x.abs().amax(dim=1, keepdim=True).div_(LARGEST).clamp_(min=smallest)
        sums = torch._int_mm((x / scales).round_().to(torch.int8), codes)
        found = torch.mul(sums, scales).mul_(matrix.scales)
        return found if bias is None else found.add_(bias)

    return product


class _Pages:
    """Where the kernels keep keys and values (native/attention.h)."""

    def __init__(self, config: ModelConfig, arena: Tensor, held: torch.dtype) -> None:
        self._kv_heads, self._width = config.n_kv_heads, config.head_dim
        self._side = padded(config.head_dim) * PAGE
        self._layer = config.n_kv_heads * 2 * self._side
        self._arena = arena
        self._held = held
        self._values = arena.view(held)

    def places(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Of each row's keys and values in the first layer, as indexes of values [rows · kv_heads · head_dim]."""
        slots = torch.from_numpy(batch.positions % PAGE).long().view(-1, 1, 1)
        pages = batch.tables[0, batch.owners, batch.positions // PAGE] // self._held.itemsize
        heads = torch.from_numpy(pages).view(-1, 1, 1) + torch.arange(self._kv_heads).view(1, -1, 1) * 2 * self._side
        each = torch.arange(self._width)
        keys, values = heads + each * PAGE + slots, heads + self._side + slots * padded(self._width) + each
        return keys.flatten(), values.flatten()

    def write(self, layer: int, places: tuple[Tensor, Tensor], keys: Tensor, values: Tensor) -> None:
        for at, new in zip(places, (keys, values), strict=True):
            self._values[at + layer * self._layer] = new.flatten()

    def runs(self, tables: NDArray[np.int64]) -> Runs:
        """Of the pages of some sequences [sequences, pages]. A page that is not there is read as the first one."""
        there = np.where(tables < 0, tables[:, :1], tables)
        layer_bytes = self._layer * self._held.itemsize
        return Runs.at(self._arena, there.flatten(), layer_bytes, layer_bytes)

    def read(self, layer: int, runs: Runs, sequences: int) -> tuple[Tensor, Tensor]:
        """Keys and values [sequences, kv_heads, tokens, head_dim]."""
        both = runs.read(layer).view(self._held).float().view(sequences, -1, self._kv_heads, 2, self._side)
        keys = torch.unflatten(both[:, :, :, 0], 3, (-1, PAGE))[..., : self._width, :].permute(0, 2, 1, 4, 3)
        values = torch.unflatten(both[:, :, :, 1], 3, (PAGE, -1))[..., : self._width].transpose(1, 2)
        return keys.flatten(2, 3), values.flatten(2, 3)


@dataclass(frozen=True, slots=True)
class _Group:
    """Sequences with as many rows each. rows [sequences, n]; seen [sequences, 1, n, keys] says what each row looks at;
    where all begin with the pass, keys and values are those of the rows themselves."""

    rows: Tensor
    seen: Tensor
    runs: Runs
    pages: _Pages
    begins: bool


def _groups(batch: Batch, pages: _Pages) -> Iterator[_Group]:
    borders = [0, *(np.flatnonzero(np.diff(batch.owners)) + 1).tolist(), len(batch.owners)]
    starts: dict[int, list[int]] = defaultdict(list)
    for start, end in pairwise(borders):
        starts[end - start].append(start)
    for count, first in starts.items():
        rows = np.array(first)[:, None] + np.arange(count)
        positions = batch.positions[rows]
        used = int(positions.max()) // PAGE + 1
        keys = np.arange(used * PAGE)
        yield _Group(
            rows=torch.from_numpy(rows),
            seen=torch.from_numpy(keys <= positions[..., None]).unsqueeze(1),
            runs=pages.runs(batch.tables[0, batch.owners[first], :used]),
            pages=pages,
            begins=not positions[:, 0].any(),
        )


def _mixed(layer: int, groups: list[_Group], q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """[rows, heads, head_dim]."""
    out = torch.empty_like(q)
    for group in groups:
        queries = q[group.rows].transpose(1, 2)
        if group.begins:
            keys, values = (each[group.rows].transpose(1, 2) for each in (k, v))
            mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=True)
        else:
            keys, values = group.pages.read(layer, group.runs, len(group.rows))
            mixed = _looked_up(queries, keys, values, group.seen)
        out[group.rows] = mixed.transpose(1, 2)
    return out


def _looked_up(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
    if queries.shape[2] > 1:
        return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=seen, enable_gqa=True)
    # The queries of a group of heads as rows of one head: no copy of the keys for each.
    shape = (len(queries), keys.shape[1], -1, queries.shape[3])
    mixed = functional.scaled_dot_product_attention(queries.reshape(shape), keys, values, attn_mask=seen)
    return mixed.reshape(queries.shape)
