"""What the toy model needs of a memory, besides what the scheduler does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from reference_engine.forward.batch import PAGE
from reference_engine.kv.arena import Arena
from reference_engine.kv.radix import RadixTree
from reference_engine.sched.memory import Memory
from reference_engine.sched.tree_memory import TreeMemory


class ReadableMemory(Memory, Protocol):
    """A page is 16 hidden states."""

    def read(self, table: Sequence[int], position: int) -> int | None: ...

    def write(self, table: Sequence[int], position: int, value: int | None) -> None: ...

    def copy(self, copies: Iterable[tuple[int, int]]) -> None: ...

    def check(self, held: Iterable[int]) -> None:
        """Every reference has a holder: `held` are the pages of requests and plans."""
        ...


class ArenaMemory(TreeMemory):
    """The engine's own arena and prefix tree."""

    def __init__(self, pages: int) -> None:
        self.arena = Arena(pages * PAGE * 8, PAGE * 8)
        self.pool = self.arena.pool("full", PAGE * 8)
        self.tree = RadixTree(self.pool)
        self.states = self.arena.buffer.view(np.uint64)
        super().__init__(self.tree, self.pool)

    def read(self, table: Sequence[int], position: int) -> int | None:
        return int(self.states[table[position // PAGE] // 8 + position % PAGE])

    def write(self, table: Sequence[int], position: int, value: int | None) -> None:
        page = table[position // PAGE]
        assert self.pool.references(page) > 0, "a free page is written to"
        self.states[page // 8 + position % PAGE] = value or 0

    def check(self, held: Iterable[int]) -> None:
        self.arena.check()
        self.tree.check()
        holders = Counter(held)
        for node in self.tree.nodes():
            holders.update(node.pages)
        assert self.pool.used == len(holders)
        assert all(self.pool.references(page) == count for page, count in holders.items())
