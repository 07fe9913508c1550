"""Who computes next: requests take turns, one engine step each, on the one thread that computes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from reference_engine.interface import GeneratedToken
from reference_engine.server.errors import ApiError

logger = logging.getLogger("reference_engine.server")

T = TypeVar("T")


class Turns:
    """Every step is queued behind the steps asked for before it, so answers grow side by side.

    One thread is also what the tensor library wants: it keeps a pool of its own for each calling thread.
    """

    def __init__(self, active_limit: int, queue_limit: int) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine")
        self._slots = asyncio.Semaphore(active_limit)
        self._queue_limit = queue_limit
        self._closed = False
        self.active = 0
        self.waiting = 0

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Holds one of the active places; raises `ApiError` (429) where too many wait for one already."""
        if self._slots.locked() and self.waiting >= self._queue_limit:
            raise ApiError(
                f"The server is busy: {self.active} requests run and {self.waiting} wait. Try again in a second.",
                http_status=429,
                wire_code="rate_limit_exceeded",
                headers={"Retry-After": "1"},
            )
        self.waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self.waiting -= 1
        self.active += 1
        try:
            yield
        finally:
            self.active -= 1
            self._slots.release()

    async def take(self, step: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, step)

    def abandon(self, tokens: Iterator[GeneratedToken]) -> None:
        """Ends a generation behind the step it may be in; does not wait, since the caller may be cancelled."""
        if isinstance(tokens, Generator) and not self._closed:
            self._thread.submit(tokens.close).add_done_callback(_log_failure)

    def close(self) -> None:
        """Waits for the step that is being computed and drops those behind it."""
        self._closed = True
        self._thread.shutdown(wait=True, cancel_futures=True)


def _log_failure(closing: Future[None]) -> None:
    if not closing.cancelled() and (error := closing.exception()) is not None:
        logger.error("a generation did not end cleanly: %s", type(error).__name__)
