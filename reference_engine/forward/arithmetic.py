"""The operations between two reads of the arena, with the roundings of a profile and the choices of an order.

Under `bf16` values are rounded where a bf16 stack stores them: after each linear layer, norm, rotation, attention
output, activation, product and residual sum. Sums stay in float32.
"""

from __future__ import annotations

from functools import reduce

import torch
from torch import Tensor

from reference_engine.forward.order import CANONICAL, Order
from reference_engine.ops import cpu as ops
from reference_engine.ops import integer
from reference_engine.ops.formats import rounded
from reference_engine.ops.integer import Int8Matrix
from reference_engine.profile import NumericsProfile

Matrix = Tensor | Int8Matrix


class Arithmetic:
    """Of one profile in one order. Values are in `dtype`; weights are cast to it where they are used."""

    def __init__(self, profile: NumericsProfile, eps: float, order: Order = CANONICAL) -> None:
        self.dtype = torch.float64 if profile.accumulation == "fp64" else torch.float32
        self.order = order
        self._format = profile.activations
        self._eps = eps

    def round(self, x: Tensor) -> Tensor:
        return rounded(x, self._format)

    def linear(self, x: Tensor, matrix: Matrix, bias: Tensor | None = None) -> Tensor:
        if self.order.row_tile is None and self.order.splits == 1 and not self.order.rounds_before_bias:
            return self.round(self._whole(x, matrix, bias))
        return self._with_bias(self._tiled(x, matrix), bias)

    def sharded_linear(self, x: Tensor, matrix: Matrix, bias: Tensor | None = None) -> Tensor:
        """A linear layer whose inputs tensor parallelism spreads over devices."""
        if self.order.shards == 1:
            return self.linear(x, matrix, bias)
        products = [self.round(self._tiled(*part)) for part in _by_inputs(x, matrix, self.order.shards)]
        return self._with_bias(reduce(lambda total, product: self.round(total + product), products), bias)

    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        weight = weight.to(x.dtype)
        if not self.order.rounds_before_norm_weight:
            return self.round(ops.rms_norm(x, weight, self._eps))
        return self.round(self.round(ops.rms_norm(x, torch.ones_like(weight), self._eps)) * weight)

    def rotate(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        if not self.order.rounds_rotation_products:
            return self.round(ops.rotate(x, cos, sin))
        cos, sin = self.round(cos), self.round(sin)
        straight, turned = ops.rotate(x, cos, torch.zeros_like(sin)), ops.rotate(x, torch.zeros_like(cos), sin)
        return self.round(self.round(straight) + self.round(turned))

    def gated(self, gate_up: Tensor) -> Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        activated = ops.silu(gate)
        return self.round((self.round(activated) if self.order.rounds_silu else activated).mul_(up))

    def add(self, x: Tensor, residual: Tensor) -> Tensor:
        return self.round(x.add_(residual))

    def mixing(self, q: Tensor) -> ops.RunningSoftmax | ops.SplitSoftmax:
        splits = self.order.key_splits
        return ops.RunningSoftmax(q) if splits == 1 else ops.SplitSoftmax(q, splits)

    def mix(self, mixing: ops.RunningSoftmax | ops.SplitSoftmax, scores: Tensor, values: Tensor) -> None:
        mixing.add(scores, values, self._format if self.order.rounds_attention_weights else "fp32")

    def _whole(self, x: Tensor, matrix: Matrix, bias: Tensor | None) -> Tensor:
        if isinstance(matrix, Int8Matrix):
            product = integer.linear(x, matrix)
            return product if bias is None else product.add_(bias)
        return ops.linear(x, matrix.to(x.dtype), None if bias is None else bias.to(x.dtype))

    def _with_bias(self, product: Tensor, bias: Tensor | None) -> Tensor:
        product = self.round(product) if self.order.rounds_before_bias else product
        return self.round(product if bias is None else product + bias.to(product.dtype))

    def _tiled(self, x: Tensor, matrix: Matrix) -> Tensor:
        tiles = torch.split(x, self.order.row_tile or x.shape[0])
        return torch.cat([self._split(tile, matrix) for tile in tiles])

    def _split(self, x: Tensor, matrix: Matrix) -> Tensor:
        """Whole numbers are summed exactly, so that no split of theirs would change a bit."""
        if self.order.splits == 1 or isinstance(matrix, Int8Matrix):
            return self._whole(x, matrix, None)
        products = [self._whole(*part, None) for part in _by_inputs(x, matrix, self.order.splits)]
        return torch.stack(products).sum(dim=0)


def _by_inputs(x: Tensor, matrix: Matrix, parts: int) -> list[tuple[Tensor, Matrix]]:
    """Both operands cut along the inputs. A part of a row that is quantized gets a scale of its own."""
    values = matrix.values if isinstance(matrix, Int8Matrix) else matrix
    cut = zip(x.tensor_split(parts, dim=1), values.tensor_split(parts, dim=1), strict=True)
    if isinstance(matrix, Int8Matrix):
        return [(some, Int8Matrix(matching, matrix.scales)) for some, matching in cut]
    return list(cut)
