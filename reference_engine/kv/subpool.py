"""Cells of one size, cut from frames of the arena, each with a count of those who hold it."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING

from reference_engine.kv.invariant import require

if TYPE_CHECKING:
    from reference_engine.kv.arena import Arena


class SubPool:
    """A cell is known by its byte offset in the arena. It is used while somebody holds a reference to it.

    Frames are taken when no cell is free and given back as soon as all cells of one are free. Which cells are handed
    out depends on the calls alone: the lowest free one first. A new cell holds zeros or what this sub-pool last wrote
    there.
    """

    def __init__(self, arena: Arena, name: str, cell_bytes: int) -> None:
        self.arena = arena
        self.name = name
        self.cell_bytes = cell_bytes
        self.cells_per_frame = arena.frame_bytes // cell_bytes
        self._references: dict[int, int] = {}
        self._used_in_frame: dict[int, int] = {}
        self._free: set[int] = set()
        # Holds every free cell; also cells that went away with their frame, which are passed over when met.
        self._lowest: list[int] = []

    @property
    def used(self) -> int:
        return len(self._references)

    @property
    def frames(self) -> int:
        return len(self._used_in_frame)

    def available(self) -> int:
        """How many cells `allocate` could give now."""
        return len(self._free) + self.arena.free_frames * self.cells_per_frame

    def missing_frames(self, count: int) -> int:
        """How many frames more it takes for `count` cells."""
        return -(-max(count - len(self._free), 0) // self.cells_per_frame)

    def references(self, offset: int) -> int:
        """How many hold this cell; 0 for a free one."""
        return self._references.get(offset, 0)

    def allocate(self, count: int) -> list[int] | None:
        """`count` cells with one reference each, or None and nothing changed where there are not so many."""
        if count > self.available():
            return None
        return [self._take() for _ in range(count)]

    def share(self, offset: int) -> None:
        """One reference more to a used cell."""
        self._references[offset] = self._held(offset) + 1

    def release(self, offset: int) -> None:
        """One reference less; the last one frees the cell."""
        left = self._held(offset) - 1
        if left:
            self._references[offset] = left
        else:
            del self._references[offset]
            self._put_back(offset)

    def copy(self, source: int, target: int) -> None:
        """The bytes of one used cell into another."""
        buffer, size = self.arena.buffer, self.cell_bytes
        self._held(source)
        self._held(target)
        buffer[target : target + size] = buffer[source : source + size]

    def check(self) -> list[int]:
        """Used cells + free cells = frames x cells per frame. Gives the frames this sub-pool owns."""
        cells = {cell for frame in self._used_in_frame for cell in self._cells(frame)}
        require(self._free.isdisjoint(self._references), f"{self.name}: a cell is free and used")
        require(self._free | self._references.keys() == cells, f"{self.name}: a cell is lost or strange")
        used = Counter(offset // self.arena.frame_bytes for offset in self._references)
        require(used == self._used_in_frame, f"{self.name}: a frame is miscounted or kept with all its cells free")
        require(min(self._references.values(), default=1) > 0, f"{self.name}: a used cell that nobody holds")
        require(self._free <= set(self._lowest), f"{self.name}: a free cell that is never handed out")
        return list(self._used_in_frame)

    def _held(self, offset: int) -> int:
        """The references to a used cell."""
        held = self._references.get(offset)
        if held is None:
            raise AssertionError(f"{self.name}: cell {offset} is free")
        return held

    def _cells(self, frame: int) -> range:
        start = frame * self.arena.frame_bytes
        return range(start, start + self.cells_per_frame * self.cell_bytes, self.cell_bytes)

    def _take(self) -> int:
        if not self._free:
            self._add_frame()
        while (offset := heapq.heappop(self._lowest)) not in self._free:
            pass
        self._free.remove(offset)
        self._references[offset] = 1
        self._used_in_frame[offset // self.arena.frame_bytes] += 1
        return offset

    def _add_frame(self) -> None:
        frame = self.arena.take_frame(self)
        self._used_in_frame[frame] = 0
        self._lowest = list(self._cells(frame))
        self._free.update(self._lowest)

    def _put_back(self, offset: int) -> None:
        frame = offset // self.arena.frame_bytes
        self._used_in_frame[frame] -= 1
        self._free.add(offset)
        heapq.heappush(self._lowest, offset)
        if not self._used_in_frame[frame]:
            del self._used_in_frame[frame]
            self._free.difference_update(self._cells(frame))
            self.arena.give_frame(frame)
