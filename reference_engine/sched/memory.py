"""What the scheduler asks of the memory of keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reference_engine.forward.batch import Page


@dataclass(frozen=True, slots=True)
class Hit:
    """The first `length` tokens of a sequence lie in `pages`; the last page may be filled in part only. Of layers with
    a window there are those cells that the row after them looks at."""

    length: int
    pages: tuple[Page, ...]


class Memory(Protocol):
    """Pages, and the prefix tree that remembers what was computed. A cell is free when nobody holds a reference.

    In layers with a sliding window a page has a cell only from the time when its first row is planned until no row to
    come looks at it.
    """

    def fits(self, rows: int, at_once: int) -> bool:
        """Whether a sequence of so many rows, run `at_once` at a time, has room with everything else given up."""
        ...

    def match(self, ids: Sequence[int]) -> Hit:
        """The longest prefix of `ids` that one can go on from; the caller gets a reference to each cell."""
        ...

    def shorten(self, hit: Hit) -> Hit:
        """Releases the last page, and what is of no use without it."""
        ...

    def cover(self, table: list[Page], tokens: int, rows: range) -> bool:
        """Adds to a page table what it lacks for so many tokens and for running these rows; False and nothing done
        where there is no room. May let go of what the tree alone holds."""
        ...

    def others_hold(self) -> bool:
        """Once `cover` was refused: whether cells are held by others than the sequences of this memory."""
        ...

    def has_passed(self, table: Sequence[Page], row: int) -> bool:
        """Whether the table has cells that rows from `row` on do not look at."""
        ...

    def give_up_passed(self, table: list[Page], row: int) -> None:
        """Releases those cells."""
        ...

    def release(self, pages: Sequence[Page]) -> None:
        """Takes one reference from each cell."""
        ...

    def keep(self, ids: Sequence[int], pages: Sequence[Page]) -> None:
        """Remembers that `ids` lie in `pages`: the tree takes references of its own, the caller's stay the caller's.

        The caller may go on writing behind `ids`, in the last page too: whoever finds that page copies it.
        """
        ...
