"""Pages in a dictionary: what the scheduler's memory has to do, in the plainest way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reference_engine.forward.batch import PAGE
from reference_engine.sched.memory import Hit

STRIDE = 4096


@dataclass(frozen=True, slots=True)
class Kept:
    ids: tuple[int, ...]
    pages: tuple[int, ...]


def common(one: Sequence[int], other: Sequence[int]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class ToyMemory:
    """Remembers whole sequences, least recently used first. The page given back last is handed out first."""

    def __init__(self, pages: int) -> None:
        self.capacity = pages
        self.free = [page * STRIDE for page in range(pages)]
        self.references: Counter[int] = Counter()
        self.cells: dict[int, list[int | None]] = {page: [None] * PAGE for page in self.free}
        self.kept: list[Kept] = []

    def match(self, ids: Sequence[int]) -> Hit:
        best = max(self.kept, key=lambda kept: common(kept.ids, ids), default=None)
        length = common(best.ids, ids) if best else 0
        if best is None or not length:
            return Hit(0, ())
        self._touch(best)
        pages = best.pages[: -(-length // PAGE)]
        self.references.update(pages)
        return Hit(length, pages)

    def allocate(self, count: int) -> list[int] | None:
        while len(self.free) < count and self.kept:
            self.release(self.kept.pop(0).pages)
        if len(self.free) < count:
            return None
        fresh = [self.free.pop() for _ in range(count)]
        self.references.update(fresh)
        return fresh

    def release(self, pages: Sequence[int]) -> None:
        for page in pages:
            assert self.references[page] > 0, "a page is released more often than it was taken"
            self.references[page] -= 1
            if not self.references[page]:
                self.cells[page] = [None] * PAGE
                self.free.append(page)

    def keep(self, ids: Sequence[int], pages: Sequence[int]) -> None:
        assert len(pages) == -(-len(ids) // PAGE)
        longer = next((kept for kept in self.kept if common(kept.ids, ids) == len(ids)), None)
        if longer:
            self._touch(longer)
            return
        shorter = [kept for kept in self.kept if common(kept.ids, ids) == len(kept.ids)]
        self.references.update(pages)
        self.kept = [kept for kept in self.kept if kept not in shorter] + [Kept(tuple(ids), tuple(pages))]
        for kept in shorter:
            self.release(kept.pages)

    def read(self, table: Sequence[int], position: int) -> int | None:
        return self.cells[table[position // PAGE]][position % PAGE]

    def write(self, table: Sequence[int], position: int, value: int | None) -> None:
        page = table[position // PAGE]
        assert self.references[page] > 0, "a free page is written to"
        self.cells[page][position % PAGE] = value

    def copy(self, copies: Iterable[tuple[int, int]]) -> None:
        """All at once: none may rest on another."""
        pairs = [(target, list(self.cells[source])) for source, target in copies]
        for target, content in pairs:
            assert self.references[target] == 1, "a page that others use is copied over"
            self.cells[target] = content

    def check(self, held: Iterable[int]) -> None:
        holders = Counter(held)
        for kept in self.kept:
            holders.update(kept.pages)
        assert +self.references == holders
        assert sorted([*self.free, *holders]) == sorted(self.cells)

    def _touch(self, kept: Kept) -> None:
        self.kept.remove(kept)
        self.kept.append(kept)
