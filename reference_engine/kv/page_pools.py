"""The sub-pools of a model's layer groups: a page has a cell in each whose layers may still look at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference_engine.forward.batch import NO_CELL, PAGE, Page
from reference_engine.kv.subpool import SubPool


@dataclass(frozen=True, slots=True)
class PagePools:
    """Sub-pools of one arena and, for each, how many keys its layers look back at, the query's own included; 0 for all.

    A row at position p looks at positions from p - window + 1 on, so that of a sequence that goes on at `row` a page
    whose last position lies before that may be given up in this group.
    """

    pools: tuple[SubPool, ...]
    windows: tuple[int, ...] = (0,)
    page: int = PAGE

    @property
    def windowed(self) -> bool:
        return any(self.windows)

    @property
    def nothing(self) -> Page:
        return (NO_CELL,) * len(self.pools)

    def share(self, page: Page) -> None:
        """One reference more to each cell."""
        for pool, cell in zip(self.pools, page, strict=True):
            if cell != NO_CELL:
                pool.share(cell)

    def release(self, page: Page) -> None:
        for pool, cell in zip(self.pools, page, strict=True):
            if cell != NO_CELL:
                pool.release(cell)

    def copy(self, source: Page, target: Page) -> None:
        for pool, cell, copied in zip(self.pools, source, target, strict=True):
            if NO_CELL not in (cell, copied):
                pool.copy(cell, copied)

    def has_room(self, cells: Sequence[int]) -> bool:
        """Whether each sub-pool could give so many cells, all of them together."""
        frames = sum(pool.missing_frames(count) for pool, count in zip(self.pools, cells, strict=True))
        return frames <= self.pools[0].arena.free_frames

    def extend(self, table: list[Page], count: int) -> bool:
        """Adds pages with a cell in every group to a page table; False and nothing done where there is no room."""
        if not self.has_room([count] * len(self.pools)):
            return False
        table += zip(*(pool.allocate(count) or () for pool in self.pools), strict=True)
        return True

    def first_seen(self, row: int) -> tuple[int, ...]:
        """In each group, the number of the first page that rows from `row` on look at."""
        return tuple(max(row - window + 1, 0) // self.page if window else 0 for window in self.windows)

    def seen(self, page: Page, number: int, row: int) -> Page:
        """The page with the cells that rows from `row` on look at."""
        firsts = self.first_seen(row)
        return tuple(cell if number >= first else NO_CELL for cell, first in zip(page, firsts, strict=True))

    def last_gap(self, table: Sequence[Page], length: int) -> int | None:
        """The last page that lacks a cell which the row after `length` tokens looks at."""
        for group, first in enumerate(self.first_seen(length)):
            for number in range(-(-length // self.page) - 1, first - 1, -1):
                if table[number][group] == NO_CELL:
                    return number
        return None
