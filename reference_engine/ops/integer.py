"""Linear layers in whole numbers: int8 weights by output channel, int8 inputs by row, exact sums, one float epilogue.

The order of float operations, for whoever computes the same bits elsewhere (no reciprocals, no fused multiply-add):

    scale = amax(|row|) / 127, and 1 where that is 0       float32 division
    q     = clamp(rint(row / scale), -127, 127)            float32 division, half to even
    sum   = Σ q·w                                          exact, int32
    y     = (float32(sum) · input scale) · weight scale    sum converted once, half to even; then + bias

The sums come from float32 matrix products over at most 1040 inputs each: 127·127·1040 is below 2²⁴, so every partial
sum is a whole number that float32 holds, whatever order the products are added in.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

LARGEST = 127
_EXACT_INPUTS = (1 << 24) // LARGEST**2


@dataclass(frozen=True, slots=True)
class Int8Matrix:
    """Weights [out, in] as whole numbers in float32, which is what the exact product takes, and their scales [out]."""

    values: Tensor
    scales: Tensor

    @staticmethod
    def of(weight: Tensor) -> Int8Matrix:
        values, scales = int8_rows(weight)
        return Int8Matrix(values, scales.flatten())


def int8_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers from -127 to 127 [rows, n], held as float32, and the scale of each row [rows, 1]."""
    scales = x.abs().amax(dim=1, keepdim=True) / LARGEST
    scales = torch.where(scales > 0, scales, torch.ones(()))
    return (x / scales).round_().clamp_(-LARGEST, LARGEST), scales


def exact_product(x: Tensor, weight: Tensor) -> Tensor:
    """x · weightᵀ of whole numbers from -127 to 127 held as float32, [rows, in] and [out, in]; int32 [rows, out]."""
    parts = -(-x.shape[1] // _EXACT_INPUTS)
    total = torch.zeros((x.shape[0], weight.shape[0]), dtype=torch.int32)
    for some, matching in zip(x.tensor_split(parts, dim=1), weight.tensor_split(parts, dim=1), strict=True):
        total += functional.linear(some, matching).to(torch.int32)
    return total


def linear(x: Tensor, matrix: Int8Matrix) -> Tensor:
    """[rows, out] float32, without bias."""
    values, scales = int8_rows(x)
    return exact_product(values, matrix.values).float().mul_(scales).mul_(matrix.scales)
