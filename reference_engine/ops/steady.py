"""Finds the padding under which this machine's matrix products give a row the same bits in any batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

MULTIPLES = (4, 16)
"""4 does with MKL on an AMD Zen 3. On an Intel with AVX-512, one thread needs 16 and two may keep to nothing unless
MKL_CBWR=AUTO,STRICT stood before MKL was first used."""

_ROWS = 80


def steady_row_multiple(weights: Sequence[Tensor], dtype: torch.dtype) -> int:
    """The smallest multiple that does for products with these weights [out, in]; the largest where none does."""
    return next((each for each in MULTIPLES if all(_steady(each, weight, dtype) for weight in weights)), MULTIPLES[-1])


def _steady(multiple: int, weight: Tensor, dtype: torch.dtype) -> bool:
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn((_ROWS, weight.shape[1]), dtype=dtype, generator=generator), weight.to(dtype)
    whole = functional.linear(x, weight)
    return all(torch.equal(functional.linear(x[:rows], weight), whole[:rows]) for rows in (multiple, 3 * multiple))
