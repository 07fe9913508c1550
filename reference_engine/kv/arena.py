"""One block of memory in equal frames, which sub-pools cut into cells of their own size."""

from __future__ import annotations

import heapq
import mmap
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from reference_engine.errors import EngineRequestError
from reference_engine.kv.invariant import require
from reference_engine.kv.subpool import SubPool


class Arena:
    """`nbytes` of memory, as far as whole frames go; `buffer` is all of it as bytes. Not for several threads at once.

    Every frame is free or belongs to one sub-pool, and each sub-pool's cells are free or used: nothing else (`check`).
    Memory costs nothing until it is written.
    """

    def __init__(self, nbytes: int, frame_bytes: int) -> None:
        self.frame_bytes = frame_bytes
        self.frames = nbytes // frame_bytes
        if self.frames < 1:
            raise EngineRequestError(
                f"An arena of {nbytes:,} bytes is smaller than one frame of {frame_bytes:,}.",
                remedy=f"Give the key-value cache {frame_bytes:,} bytes or more.",
            )
        self.buffer: NDArray[np.uint8] = np.frombuffer(_mapped(self.frames * frame_bytes), dtype=np.uint8)
        self._free = list(range(self.frames))
        self._last_owner: list[SubPool | None] = [None] * self.frames
        self._pools: dict[str, SubPool] = {}

    def pool(self, name: str, cell_bytes: int) -> SubPool:
        """A new sub-pool; it owns no frame until something is allocated in it."""
        require(name not in self._pools, f"there is a sub-pool {name!r} already")
        if not 0 < cell_bytes <= self.frame_bytes:
            raise EngineRequestError(
                f"Cells of {cell_bytes:,} bytes ({name}) do not fit into frames of {self.frame_bytes:,}.",
                remedy="Choose frames as large as the largest cell.",
            )
        self._pools[name] = SubPool(self, name, cell_bytes)
        return self._pools[name]

    @property
    def free_frames(self) -> int:
        return len(self._free)

    @property
    def used(self) -> int:
        """Cells that somebody holds, in all sub-pools."""
        return sum(pool.used for pool in self._pools.values())

    def take_frame(self, pool: SubPool) -> int:
        """The lowest free frame. What another sub-pool left in it is wiped: as numbers its bytes may be NaN, which
        even a weight of zero does not hide."""
        frame = heapq.heappop(self._free)
        if self._last_owner[frame] not in (None, pool):
            self.buffer[frame * self.frame_bytes : (frame + 1) * self.frame_bytes] = 0
        self._last_owner[frame] = pool
        return frame

    def give_frame(self, frame: int) -> None:
        heapq.heappush(self._free, frame)

    def check(self) -> None:
        """The conservation law: free frames + the frames of all sub-pools = all frames, and so for cells in each."""
        owned = [frame for pool in self._pools.values() for frame in pool.check()]
        require(sorted(owned + self._free) == list(range(self.frames)), "a frame is lost or has two owners")


def _mapped(nbytes: int) -> mmap.mmap:
    try:
        memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError, ValueError) as error:
        raise EngineRequestError(
            f"This machine does not give {nbytes:,} bytes of memory to the key-value cache.",
            remedy="Give the key-value cache fewer bytes.",
        ) from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel built without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
