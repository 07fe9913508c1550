"""Lists in pages: `limit` and `cursor` in, `next_cursor` and a Link header out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, Query, Request, Response
from pydantic import Field

from monitor.api.shapes import Shape
from monitor.api.state import state_of
from monitor.errors import Finding, RequestError
from monitor.store.keyset import Key, Page, Position, Window

DEFAULT_LIMIT = 50
MOST = 500

# What may differ from page to page of one list; the order is told apart by itself.
_NO_FILTERS = ("cursor", "limit", "sort", "count")

T = TypeVar("T")


class PageOf(Shape, Generic[T]):
    """One page; `next_cursor` asks for the next one, null on the last."""

    items: list[T]
    next_cursor: str | None = Field(description="null on the last page")
    count_estimate: int | None = Field(description="with `count=estimate`: how many items there are, or about as many")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a client asked of a list."""

    request: Request
    response: Response
    limit: int
    cursor: str | None
    sort: str
    counted: bool

    def window(self) -> Window:
        """Raises MalformedRequestError for a cursor of another list, or of the same one sorted or cut otherwise."""
        after = None if self.cursor is None else self._position(self.cursor)
        return Window(self.limit, after, not self.sort.startswith("-"), self.sort.removeprefix("-"), self.counted)

    def answer(self, page: Page[Any], items: Sequence[Any] | None = None) -> PageOf[Any]:
        """The page as the client gets it; `items` in place of the page's own."""
        cursor = None if page.next is None else self._cursor(page.next)
        if cursor is not None:
            query = [pair for pair in self.request.query_params.multi_items() if pair[0] != "cursor"]
            target = f"{self.request.url.path}?{urlencode([*query, ('cursor', cursor)])}"
            self.response.headers["Link"] = f'<{target}>; rel="next"'
        listed = list(page.items if items is None else items)
        return PageOf[Any].model_construct(items=listed, next_cursor=cursor, count_estimate=page.count)

    def _cursor(self, position: Position) -> str:
        time = isinstance(position.key, datetime)
        key = position.key.isoformat() if isinstance(position.key, datetime) else position.key
        return state_of(self.request).key.cursor(self._list(), [time, key, position.id])

    def _position(self, cursor: str) -> Position:
        time, key, identity = state_of(self.request).key.read_cursor(self._list(), cursor)
        position: Key = datetime.fromisoformat(key) if time else key
        return Position(position, identity)

    def _list(self) -> str:
        """What the list is: its address, its order and its filters."""
        filters = sorted(pair for pair in self.request.query_params.multi_items() if pair[0] not in _NO_FILTERS)
        return hashlib.sha256(repr((self.request.url.path, self.sort, filters)).encode()).hexdigest()[:16]


_Limit = Annotated[int, Query(ge=1, le=MOST, description="At most so many items.")]
_Cursor = Annotated[str | None, Query(max_length=1024, description="`next_cursor` of the page before.")]
_Count = Annotated[
    Literal["estimate"] | None, Query(description="`estimate`: say how long the list is, exactly where that is cheap.")
]


def sorted_by(usual: str, *others: str) -> Any:
    """The dependency of a list that may be sorted by these keys; `usual` is its order unless `sort` says otherwise."""
    names = [usual.removeprefix("-"), *others]
    allowed = [sign + name for name in names for sign in ("", "-")]
    by = Query(usual, description="By which key; `-` for falling values.", json_schema_extra={"enum": list(allowed)})

    def page_request(
        request: Request,
        response: Response,
        limit: _Limit = DEFAULT_LIMIT,
        cursor: _Cursor = None,
        sort: str = by,
        count: _Count = None,
    ) -> PageRequest:
        if sort not in allowed:
            detail = f"must be one of {', '.join(allowed)}"
            findings = [Finding("/query/sort", "enum", detail)]
            raise RequestError(f"The list cannot be sorted so: sort {detail}.", findings=findings)
        return PageRequest(request, response, limit, cursor, sort, count is not None)

    return Depends(page_request)
