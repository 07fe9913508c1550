"""The decoder's operations on a CPU, in the format of their inputs: float32, or float64 for the oracle.

Attention goes through the keys in fixed blocks of absolute positions and updates a running softmax, so that a row's
shapes and summation order never depend on the rows beside it, on how the prompt was cut into chunks, or on padding.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from reference_engine.ops.formats import rounded
from reference_engine.profile import ActivationFormat

KEY_BLOCK = 64
ROW_MULTIPLE = 4
"""With MKL on an AMD Zen 3, a matrix product gives a row the same bits in any batch once the number of rows is a
multiple of four. On an Intel with AVX-512 it does not: a row's last bits hang on the number of rows beside it."""


def padded_rows(rows: int, multiple: int = ROW_MULTIPLE) -> int:
    return (rows + multiple - 1) // multiple * multiple


def with_padding(x: Tensor, multiple: int = ROW_MULTIPLE) -> Tensor:
    """`x` with rows of zeros after it, up to a multiple of `multiple`."""
    missing = padded_rows(x.shape[0], multiple) - x.shape[0]
    return torch.cat((x, x.new_zeros((missing, *x.shape[1:])))) if missing else x


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return functional.linear(x, weight, bias)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return functional.rms_norm(x, (weight.shape[0],), weight, eps)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of heads x [rows, heads, head_dim] by cos and sin [rows, head_dim]."""
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos.unsqueeze(1) + turned * sin.unsqueeze(1)


def silu(x: Tensor) -> Tensor:
    return functional.silu(x)


class RunningSoftmax:
    """Softmax over keys that come block by block, for queries [n, m, d]. A block whose keys are all hidden from a query
    leaves its numbers as they are."""

    def __init__(self, q: Tensor) -> None:
        self._largest = q.new_full((*q.shape[:2], 1), float("-inf"))
        self._total, self._mixed = torch.zeros_like(self._largest), torch.zeros_like(q)

    def add(self, scores: Tensor, values: Tensor, weights_in: ActivationFormat = "fp32") -> None:
        """The next block for the first of the n: scores [n', m, keys], which are used up, and values [n', keys, d].

        `weights_in` is the format that the weights are rounded to before they meet the values.
        """
        n = scores.shape[0]
        largest, total, mixed = self._largest[:n], self._total[:n], self._mixed[:n]
        grown = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        finite = grown.masked_fill(grown == float("-inf"), 0.0)
        shrink = (largest - finite).exp_()
        weights = scores.sub_(finite).exp_()
        total.mul_(shrink).add_(weights.sum(dim=-1, keepdim=True))
        mixed.mul_(shrink).add_(torch.bmm(rounded(weights, weights_in), values))
        largest.copy_(grown)

    def join(self, other: RunningSoftmax) -> None:
        """Takes in what another one has of the same queries; some key of either is shown to each."""
        grown = torch.maximum(self._largest, other._largest)
        for one in (self, other):
            shrink = (one._largest - grown).exp_()
            one._total.mul_(shrink)
            one._mixed.mul_(shrink)
        self._total.add_(other._total)
        self._mixed.add_(other._mixed)
        self._largest.copy_(grown)

    def result(self) -> Tensor:
        return self._mixed.div_(self._total)


class SplitSoftmax:
    """The same with every `splits`-th block summed apart; the sums are joined at the end, as flash decoding does."""

    def __init__(self, q: Tensor, splits: int) -> None:
        self._parts = [RunningSoftmax(q) for _ in range(splits)]
        self._blocks = 0

    def add(self, scores: Tensor, values: Tensor, weights_in: ActivationFormat = "fp32") -> None:
        self._parts[self._blocks % len(self._parts)].add(scores, values, weights_in)
        self._blocks += 1

    def result(self) -> Tensor:
        first, *others = self._parts
        for other in others:
            first.join(other)
        return first.result()
