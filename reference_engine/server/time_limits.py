"""Until when a request is worked on: its own time, and the server's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextvars import ContextVar
from typing import TypeVar

from reference_engine.server.errors import ApiError

T = TypeVar("T")

REQUEST_ENDS: ContextVar[float | None] = ContextVar("REQUEST_ENDS", default=None)
"""When the time of the request at hand is up, on the event loop's clock."""


class TimeLimits:
    """Of all that the requests wait for. Belongs to the event loop."""

    def __init__(self) -> None:
        self._running: set[asyncio.Timeout] = set()
        self._ended = False

    async def within(self, work: Awaitable[T]) -> T:
        """The result of `work`; `ApiError` (504, 503) where the request's time, or the server's, is up before."""
        now = asyncio.get_running_loop().time()
        limit = asyncio.timeout_at(now if self._ended else REQUEST_ENDS.get())
        try:
            async with limit:
                self._running.add(limit)
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
            raise stopping() if self._ended else _out_of_time() from None
        finally:
            self._running.discard(limit)

    def end(self) -> None:
        """Whatever is waited for, now or later, is given up."""
        self._ended = True
        now = asyncio.get_running_loop().time()
        for limit in self._running:
            if not limit.expired():
                limit.reschedule(now)


def stopping() -> ApiError:
    return ApiError(
        "The server is stopping. Ask again in a few seconds, when its successor may be there.",
        http_status=503,
        wire_code="server_stopping",
        headers={"Retry-After": "5"},
    )


def _out_of_time() -> ApiError:
    return ApiError(
        "The request's time was up before its answer was whole. Allow it more, or ask for less.",
        http_status=504,
        wire_code="deadline_exceeded",
    )
