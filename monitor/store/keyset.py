"""Pages of a list that grows while it is read: each begins after the last item seen, by sort key and id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, and_, or_

T = TypeVar("T")
Key = datetime | str | int


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page ended: the sort key and the id of its last item."""

    key: Key
    id: str | int


@dataclass(frozen=True, slots=True)
class Window:
    """At most `limit` items after `after`; by falling key unless `ascending`."""

    limit: int
    after: Position | None = None
    ascending: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`next` is where the following page begins, None on the last one."""

    items: tuple[T, ...]
    next: Position | None


def windowed(query: Select[*tuple[Any, ...]], key: Any, identity: Any, window: Window) -> Select[*tuple[Any, ...]]:
    """`query` cut to the window, and one item more that tells whether another page follows."""
    order = (key.asc(), identity.asc()) if window.ascending else (key.desc(), identity.desc())
    if window.after is not None:
        query = query.where(_beyond(key, identity, window.after, window.ascending))
    return query.order_by(*order).limit(window.limit + 1)


def _beyond(key: Any, identity: Any, after: Position, ascending: bool) -> ColumnElement[bool]:
    further = key > after.key if ascending else key < after.key
    later = identity > after.id if ascending else identity < after.id
    return or_(further, and_(key == after.key, later))


def page_of(rows: Sequence[T], window: Window, position: Callable[[T], Position]) -> Page[T]:
    """The page that a `windowed` query gave as `rows`."""
    items = tuple(rows[: window.limit])
    return Page(items, position(items[-1]) if len(rows) > window.limit else None)
