"""What the toy model needs of a memory, besides what the scheduler does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from reference_engine.forward.batch import NO_CELL, PAGE, Page
from reference_engine.kv.arena import Arena
from reference_engine.kv.page_pools import PagePools
from reference_engine.kv.radix import RadixTree
from reference_engine.sched.memory import Memory
from reference_engine.sched.tree_memory import TreeMemory


class ReadableMemory(Memory, Protocol):
    """A page is 16 hidden states."""

    def read(self, table: Sequence[Page], position: int, row: int) -> int | None:
        """What the row sees there."""
        ...

    def seen(self, table: Sequence[Page], row: int) -> list[Page]:
        """What rows from `row` on look at."""
        ...

    def write(self, table: Sequence[Page], position: int, value: int | None) -> None: ...

    def copy(self, copies: Iterable[tuple[Page, Page]]) -> None: ...

    def check(self, held: Iterable[Page]) -> None:
        """Every reference has a holder: `held` are the pages of requests and plans."""
        ...


class ArenaMemory(TreeMemory):
    """The engine's own arena and prefix tree; with `window` half of the layers have one."""

    def __init__(self, pages: int, window: int = 0) -> None:
        self.arena = Arena(pages * PAGE * 8, PAGE * 8)
        self.pool = self.arena.pool("full", PAGE * 8)
        self.window_pool = self.arena.pool("window", PAGE * 8)
        pools = PagePools((self.pool, self.window_pool), (0, window)) if window else PagePools((self.pool,))
        self.tree = RadixTree(pools)
        self.states = self.arena.buffer.view(np.uint64)
        super().__init__(self.tree)

    def read(self, table: Sequence[Page], position: int, row: int) -> int | None:
        number, place = divmod(position, PAGE)
        cells = self.tree.pools.seen(table[number], number, row)
        firsts = self.tree.pools.first_seen(row)
        assert all(cell != NO_CELL or number < first for cell, first in zip(cells, firsts, strict=True))
        states = {int(self.states[cell // 8 + place]) for cell in cells if cell != NO_CELL}
        return states.pop() if len(states) == 1 else None

    def seen(self, table: Sequence[Page], row: int) -> list[Page]:
        return [self.tree.pools.seen(page, number, row) for number, page in enumerate(table)]

    def write(self, table: Sequence[Page], position: int, value: int | None) -> None:
        for pool, cell in zip(self.tree.pools.pools, table[position // PAGE], strict=True):
            assert pool.references(cell) > 0, "a free page is written to"
            self.states[cell // 8 + position % PAGE] = value or 0

    def check(self, held: Iterable[Page]) -> None:
        self.arena.check()
        self.tree.check()
        pages = [*held, *[page for node in self.tree.nodes() for page in node.pages]]
        for group, pool in enumerate(self.tree.pools.pools):
            holders = Counter(page[group] for page in pages if page[group] != NO_CELL)
            assert pool.used == len(holders)
            assert all(pool.references(cell) == count for cell, count in holders.items())
