"""Pages of a list that grows while it is read: each begins after the last item seen, by sort key and id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, and_, or_
from sqlalchemy.orm import Session

from monitor.store.counting import count_of

T = TypeVar("T")
U = TypeVar("U")
Key = datetime | str | int | float
# What a list can be sorted by: a column or expression that is never null, by name. The first one is the usual key.
Sorts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page ended: the sort key and the id of its last item."""

    key: Key
    id: str | int


@dataclass(frozen=True, slots=True)
class Window:
    """At most `limit` items after `after`; by falling key unless `ascending`.

    `by` names one of the list's sort keys, None its usual one. `counted`: the page says how long the list is.
    """

    limit: int
    after: Position | None = None
    ascending: bool = False
    by: str | None = None
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`next` is where the following page begins, None on the last one. `count` is how many items the list has, or about
    as many where they are too many to count; None where nobody asked."""

    items: tuple[T, ...]
    next: Position | None
    count: int | None = None

    def of(self, items: Iterable[U]) -> Page[U]:
        """The same page with other items, one for each."""
        return Page(tuple(items), self.next, self.count)


def read_page(session: Session, query: Select[T], sorts: Sorts, identity: Any, window: Window) -> Page[T]:
    """One page of the one thing that `query` selects; `identity` is the id that decides between equal keys."""
    key = sorts[window.by or next(iter(sorts))]
    # One more than the page holds tells whether another follows.
    rows = session.execute(_windowed(query.add_columns(key, identity), key, identity, window)).all()
    items = rows[: window.limit]
    following = Position(items[-1][1], items[-1][2]) if len(rows) > window.limit else None
    count = count_of(session, query, identity) if window.counted else None
    return Page(tuple(item[0] for item in items), following, count)


def _windowed(query: Select[*tuple[Any, ...]], key: Any, identity: Any, window: Window) -> Select[*tuple[Any, ...]]:
    order = (key.asc(), identity.asc()) if window.ascending else (key.desc(), identity.desc())
    if window.after is not None:
        query = query.where(_beyond(key, identity, window.after, window.ascending))
    return query.order_by(*order).limit(window.limit + 1)


def _beyond(key: Any, identity: Any, after: Position, ascending: bool) -> ColumnElement[bool]:
    further = key > after.key if ascending else key < after.key
    later = identity > after.id if ascending else identity < after.id
    return or_(further, and_(key == after.key, later))
