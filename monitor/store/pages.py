"""Long lists in pieces that fit one statement (a database bounds the number of its parameters)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

PAGE = 500


def pages(values: Sequence[T], size: int = PAGE) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
