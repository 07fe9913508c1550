"""The scheduler's memory over the arena and its prefix tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reference_engine.forward.batch import NO_CELL, PAGE, Page
from reference_engine.kv.radix import RadixTree
from reference_engine.sched.memory import Hit
from reference_engine.sched.request import pages_for


class TreeMemory:
    """Implements Memory. Requests hold references to cells and no locks: a lock on a node that is longer than the hit
    would pin pages that nobody uses, and a request alone in the engine could then lack them."""

    def __init__(self, tree: RadixTree) -> None:
        self._tree = tree
        self._pools = tree.pools
        self._held: tuple[Counter[int], ...] = tuple(Counter() for _ in self._pools.pools)

    def fits(self, rows: int, at_once: int) -> bool:
        most = pages_for(rows)
        windows = self._pools.windows
        return self._in_frames([min(most, pages_for(each - 1 + at_once) + 1) if each else most for each in windows])

    def match(self, ids: Sequence[int]) -> Hit:
        found = self._tree.match(ids)
        self._tree.unlock(found.node)
        for page in found.pages:
            self._count(page, 1)
        return Hit(found.length, tuple(found.pages))

    def shorten(self, hit: Hit) -> Hit:
        pages = hit.pages[:-1]
        while (gap := self._pools.last_gap(pages, len(pages) * PAGE)) is not None:
            pages = pages[:gap]
        self.release(hit.pages[len(pages) :])
        return Hit(len(pages) * PAGE, pages)

    def cover(self, table: list[Page], tokens: int, rows: range) -> bool:
        """Nothing is evicted for a request that must wait anyway."""
        coming = range(len(table), pages_for(tokens))
        due = range(rows.start // PAGE, pages_for(rows.stop))
        lacking = [
            [number for number in (due if window else coming) if number in coming or table[number][group] == NO_CELL]
            for group, window in enumerate(self._pools.windows)
        ]
        if any(lacking):
            held = [len(cells) + len(numbers) for cells, numbers in zip(self._held, lacking, strict=True)]
            if not self._in_frames(held) or not self._tree.make_room([len(numbers) for numbers in lacking]):
                return False
        table += [self._pools.nothing] * len(coming)
        for group, numbers in enumerate(lacking):
            for number, cell in zip(numbers, self._pools.pools[group].allocate(len(numbers)) or (), strict=True):
                table[number] = _with_cell(table[number], group, cell)
                self._held[group][cell] += 1
        return True

    def others_hold(self) -> bool:
        return self._pools.pools[0].arena.used > sum(map(len, self._held))

    def has_passed(self, table: Sequence[Page], row: int) -> bool:
        firsts = enumerate(self._pools.first_seen(row))
        return any(first and table[first - 1][group] != NO_CELL for group, first in firsts)

    def give_up_passed(self, table: list[Page], row: int) -> None:
        for group, first in enumerate(self._pools.first_seen(row)):
            for number in range(first - 1, -1, -1):
                cell = table[number][group]
                if cell == NO_CELL:
                    break
                table[number] = _with_cell(table[number], group, NO_CELL)
                self.release([_with_cell(self._pools.nothing, group, cell)])

    def release(self, pages: Sequence[Page]) -> None:
        for page in pages:
            self._count(page, -1)
            self._pools.release(page)

    def keep(self, ids: Sequence[int], pages: Sequence[Page]) -> None:
        self._tree.insert(ids, pages)

    def copy(self, copies: Iterable[tuple[Page, Page]]) -> None:
        """`Plan.copies`, before the pass."""
        for source, target in copies:
            self._pools.copy(source, target)

    def _count(self, page: Page, references: int) -> None:
        for held, cell in zip(self._held, page, strict=True):
            if cell != NO_CELL:
                held[cell] += references
                if not held[cell]:
                    del held[cell]

    def _in_frames(self, cells: Sequence[int]) -> bool:
        """Whether the arena could hold so many cells of each group."""
        frames = sum(-(-count // pool.cells_per_frame) for pool, count in zip(self._pools.pools, cells, strict=True))
        return frames <= self._pools.pools[0].arena.frames


def _with_cell(page: Page, group: int, cell: int) -> Page:
    return (*page[:group], cell, *page[group + 1 :])
