"""Lists in pages: `limit` and `cursor` in, `next_cursor` and a Link header out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, Query, Request, Response
from pydantic import Field

from monitor.api.shapes import Shape
from monitor.api.state import state_of
from monitor.errors import MalformedRequestError
from monitor.store.keyset import Key, Page, Position, Window

DEFAULT_LIMIT = 50
MOST = 500

T = TypeVar("T")


class PageOf(Shape, Generic[T]):
    """One page; `next_cursor` asks for the next one, null on the last."""

    items: list[T]
    next_cursor: str | None = Field(description="null on the last page")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a client asked of a list."""

    request: Request
    response: Response
    limit: int
    cursor: str | None

    def window(self, *, ascending: bool = False) -> Window:
        """Raises MalformedRequestError for a cursor of another list, or of the same one with other filters."""
        return Window(self.limit, None if self.cursor is None else self._position(self.cursor), ascending)

    def answer(self, page: Page[Any], items: Sequence[Any] | None = None) -> PageOf[Any]:
        """The page as the client gets it; `items` in place of the page's own."""
        cursor = None if page.next is None else self._cursor(page.next)
        if cursor is not None:
            query = [pair for pair in self.request.query_params.multi_items() if pair[0] != "cursor"]
            target = f"{self.request.url.path}?{urlencode([*query, ('cursor', cursor)])}"
            self.response.headers["Link"] = f'<{target}>; rel="next"'
        return PageOf[Any].model_construct(items=list(page.items if items is None else items), next_cursor=cursor)

    def _cursor(self, position: Position) -> str:
        time = isinstance(position.key, datetime)
        key = position.key.isoformat() if isinstance(position.key, datetime) else position.key
        return state_of(self.request).key.cursor([self._list(), time, key, position.id])

    def _position(self, cursor: str) -> Position:
        content = state_of(self.request).key.read_cursor(cursor)
        which, time, key, identity = content
        if which != self._list():
            raise MalformedRequestError(
                "The cursor belongs to another list.", remedy="Send it with the address and filters it came from."
            )
        position: Key = datetime.fromisoformat(key) if time else key
        return Position(position, identity)

    def _list(self) -> str:
        """What the list is: its address and filters."""
        filters = sorted(pair for pair in self.request.query_params.multi_items() if pair[0] not in ("cursor", "limit"))
        return hashlib.sha256(repr((self.request.url.path, filters)).encode()).hexdigest()[:16]


def _page_request(
    request: Request,
    response: Response,
    limit: Annotated[int, Query(ge=1, le=MOST, description="At most so many items.")] = DEFAULT_LIMIT,
    cursor: Annotated[str | None, Query(max_length=1024, description="`next_cursor` of the page before.")] = None,
) -> PageRequest:
    return PageRequest(request, response, limit, cursor)


Paged = Annotated[PageRequest, Depends(_page_request)]
