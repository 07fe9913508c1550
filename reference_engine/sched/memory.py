"""What the scheduler asks of the memory of keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Hit:
    """The first `length` tokens of a sequence lie in `pages`; the last page may be filled in part only."""

    length: int
    pages: tuple[int, ...]


class Memory(Protocol):
    """Pages, and the prefix tree that remembers what was computed. A page is free when nobody holds a reference."""

    @property
    def capacity(self) -> int:
        """How many pages one sequence can have at most, with everything else given up."""
        ...

    def match(self, ids: Sequence[int]) -> Hit:
        """The longest known prefix of `ids`; the caller gets a reference to each of its pages."""
        ...

    def allocate(self, count: int) -> list[int] | None:
        """`count` fresh pages with a reference each, or None and no page; may let go of what the tree alone holds."""
        ...

    def release(self, pages: Sequence[int]) -> None:
        """Takes one reference from each page."""
        ...

    def keep(self, ids: Sequence[int], pages: Sequence[int]) -> None:
        """Remembers that `ids` lie in `pages`: the tree takes references of its own, the caller's stay the caller's.

        The caller may go on writing behind `ids`, in the last page too: whoever finds that page copies it.
        """
        ...
