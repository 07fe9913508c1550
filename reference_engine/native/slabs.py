"""Memory for weights on huge pages: a pass reads all of them once, and would spend a good part of its time on finding
small ones."""

from __future__ import annotations

import mmap
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

_SLAB_BYTES = 64 << 20
_ALIGNMENT = 64


class Slabs:
    """Copies arrays one behind the other. A slab lives as long as any array in it; its unwritten rest costs nothing."""

    def __init__(self) -> None:
        self._free: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)

    def copied(self, array: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The same bytes, at a multiple of 64."""
        room = -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        if room > len(self._free):
            self._free = np.frombuffer(_mapped(max(room, _SLAB_BYTES)), dtype=np.uint8)
        taken = self._free[: array.nbytes]
        self._free = self._free[room:]
        taken[:] = array
        return taken


def _mapped(nbytes: int) -> mmap.mmap:
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel built without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
