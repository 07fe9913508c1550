"""The scheduler's memory over the arena and its prefix tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reference_engine.kv.radix import RadixTree
from reference_engine.kv.subpool import SubPool
from reference_engine.sched.memory import Hit


class TreeMemory:
    """Implements Memory. Requests hold references to pages and no locks: a lock on a node that is longer than the hit
    would pin pages that nobody uses, and a request alone in the engine could then lack them."""

    def __init__(self, tree: RadixTree, pool: SubPool) -> None:
        self._tree = tree
        self._pool = pool
        self._held: Counter[int] = Counter()

    @property
    def capacity(self) -> int:
        return self._pool.arena.frames * self._pool.cells_per_frame

    def match(self, ids: Sequence[int]) -> Hit:
        found = self._tree.match(ids)
        self._tree.unlock(found.node)
        self._held.update(found.pages)
        return Hit(found.length, tuple(found.pages))

    def allocate(self, count: int) -> list[int] | None:
        """Nothing is evicted for a request that must wait anyway."""
        if count > self.capacity - len(self._held) or not self._tree.evict(self._pool, count):
            return None
        pages = self._pool.allocate(count)
        self._held.update(pages or ())
        return pages

    def release(self, pages: Sequence[int]) -> None:
        for page in pages:
            self._held[page] -= 1
            if not self._held[page]:
                del self._held[page]
            self._pool.release(page)

    def keep(self, ids: Sequence[int], pages: Sequence[int]) -> None:
        self._tree.insert(ids, pages)

    def copy(self, copies: Iterable[tuple[int, int]]) -> None:
        """`Plan.copies`, before the pass."""
        for source, target in copies:
            self._pool.copy(source, target)
