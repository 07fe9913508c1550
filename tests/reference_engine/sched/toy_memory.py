"""Pages in a dictionary: what the scheduler's memory has to do, in the plainest way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reference_engine.forward.batch import PAGE, Page
from reference_engine.sched.memory import Hit

STRIDE = 4096


@dataclass(frozen=True, slots=True)
class Kept:
    ids: tuple[int, ...]
    pages: tuple[Page, ...]


def common(one: Sequence[int], other: Sequence[int]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class ToyMemory:
    """Remembers whole sequences, least recently used first. The page given back last is handed out first."""

    def __init__(self, pages: int) -> None:
        self.free: list[Page] = [(page * STRIDE,) for page in range(pages)]
        self.references: Counter[Page] = Counter()
        self.cells: dict[Page, list[int | None]] = {page: [None] * PAGE for page in self.free}
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

    def fits(self, rows: int, at_once: int) -> bool:
        return rows <= len(self.cells) * PAGE

    def shorten(self, hit: Hit) -> Hit:
        self.release(hit.pages[-1:])
        return Hit((len(hit.pages) - 1) * PAGE, hit.pages[:-1])

    def cover(self, table: list[Page], tokens: int, rows: range) -> bool:
        count = max(-(-tokens // PAGE) - len(table), 0)
        while len(self.free) < count and self.kept:
            self.release(self.kept.pop(0).pages)
        if len(self.free) < count:
            return False
        fresh = [self.free.pop() for _ in range(count)]
        self.references.update(fresh)
        table += fresh
        return True

    def others_hold(self) -> bool:
        return False

    def has_passed(self, table: Sequence[Page], row: int) -> bool:
        return False

    def give_up_passed(self, table: list[Page], row: int) -> None:
        raise AssertionError("without a window nothing is passed")

    def release(self, pages: Sequence[Page]) -> None:
        for page in pages:
            assert self.references[page] > 0, "a page is released more often than it was taken"
            self.references[page] -= 1
            if not self.references[page]:
                self.cells[page] = [None] * PAGE
                self.free.append(page)

    def keep(self, ids: Sequence[int], pages: Sequence[Page]) -> None:
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

    def read(self, table: Sequence[Page], position: int, row: int) -> int | None:
        return self.cells[table[position // PAGE]][position % PAGE]

    def seen(self, table: Sequence[Page], row: int) -> list[Page]:
        return list(table)

    def write(self, table: Sequence[Page], position: int, value: int | None) -> None:
        page = table[position // PAGE]
        assert self.references[page] > 0, "a free page is written to"
        self.cells[page][position % PAGE] = value

    def copy(self, copies: Iterable[tuple[Page, Page]]) -> None:
        """All at once: none may rest on another."""
        pairs = [(target, list(self.cells[source])) for source, target in copies]
        for target, content in pairs:
            assert self.references[target] == 1, "a page that others use is copied over"
            self.cells[target] = content

    def check(self, held: Iterable[Page]) -> None:
        holders = Counter(held)
        for kept in self.kept:
            holders.update(kept.pages)
        assert +self.references == holders
        assert sorted([*self.free, *holders]) == sorted(self.cells)

    def _touch(self, kept: Kept) -> None:
        self.kept.remove(kept)
        self.kept.append(kept)
