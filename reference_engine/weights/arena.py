"""One block of memory for all weights of a model, on huge pages where the system has them.

Touching half a gigabyte for the first time costs seconds on small pages and a fraction of one on huge pages.
"""

from __future__ import annotations

import math
import mmap

import torch
from torch import Tensor

_ALIGNMENT = 16  # elements: rows start at a cache line
_FLOAT_BYTES = 4


class Arena:
    """Hands out uninitialised float32 tensors from one allocation, which lives as long as any of them."""

    def __init__(self, shapes: list[tuple[int, ...]]) -> None:
        elements = sum(_aligned(math.prod(shape)) for shape in shapes)
        memory = mmap.mmap(-1, max(elements, 1) * _FLOAT_BYTES)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        self._free = torch.frombuffer(memory, dtype=torch.float32)

    def take(self, *shape: int) -> Tensor:
        """The next `shape` of the block, which must have been among those announced."""
        size = math.prod(shape)
        taken = self._free[:size].view(shape)
        self._free = self._free[_aligned(size) :]
        return taken


def _aligned(elements: int) -> int:
    return (elements + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
