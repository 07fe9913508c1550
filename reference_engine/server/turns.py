"""How many are answered at a time, on which threads, and what becomes of the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from reference_engine.server.errors import ApiError
from reference_engine.server.time_limits import TimeLimits, stopping

logger = logging.getLogger("reference_engine.server")

T = TypeVar("T")


class Turns:
    """The engine puts what it is asked at the same time into one batch, so whoever has a place asks at once.

    A request of several prompts takes a place for each, as they become free. Belongs to the event loop, except for the
    steps.
    """

    def __init__(self, active_limit: int, queue_limit: int) -> None:
        self._threads = ThreadPoolExecutor(active_limit, thread_name_prefix="answer")
        # Of its own, so that giving up does not wait for those who wait.
        self._closing = ThreadPoolExecutor(1, thread_name_prefix="closing")
        self._requests = asyncio.Semaphore(active_limit)
        self._places = asyncio.Semaphore(active_limit)
        self._queue_limit = queue_limit
        self._limits = TimeLimits()
        self._nobody = asyncio.Event()
        self._nobody.set()
        self.draining = False
        self.active = 0
        self.waiting = 0

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """For as long as a request is answered. Raises `ApiError`: 429 where too many wait already, 503 where the
        server stops."""
        self._check_welcome()
        self._count(waiting=1)
        try:
            await self._limits.within(self._requests.acquire())
        except BaseException:
            self._count(waiting=-1)
            raise
        self._count(waiting=-1, active=1)
        try:
            yield
        finally:
            self._count(active=-1)
            self._requests.release()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """For as long as one prompt of an admitted request is computed."""
        await self._limits.within(self._places.acquire())
        try:
            yield
        finally:
            self._places.release()

    async def take(self, step: Callable[[], T], give_up: Callable[[], None] | None = None) -> T:
        """The result of a step that blocks, of one that has a place. Where nobody waits for it any longer, `give_up`
        is called."""
        try:
            return await self._limits.within(asyncio.get_running_loop().run_in_executor(self._threads, step))
        except BaseException:
            if give_up is not None:
                self.close_later(give_up)
            raise

    def close_later(self, close: Callable[[], None]) -> None:
        """Does not wait, since the caller may be cancelled."""
        with suppress(RuntimeError):  # all is closed already
            self._closing.submit(close).add_done_callback(_log_failure)

    async def drain(self, seconds: float) -> None:
        """Takes no more requests, and comes back when those that are there are answered, or told that time is up."""
        self.draining = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._nobody.wait()
        self._limits.end()

    def close(self) -> None:
        """Waits for the steps that are being computed."""
        self._closing.shutdown(wait=True)
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _check_welcome(self) -> None:
        if self.draining:
            raise stopping()
        if self._requests.locked() and self.waiting >= self._queue_limit:
            raise ApiError(
                f"The server is busy: {self.active} requests run and {self.waiting} wait. Try again in a second.",
                http_status=429,
                wire_code="rate_limit_exceeded",
                headers={"Retry-After": "1"},
            )

    def _count(self, *, active: int = 0, waiting: int = 0) -> None:
        self.active += active
        self.waiting += waiting
        if self.active or self.waiting:
            self._nobody.clear()
        else:
            self._nobody.set()


def _log_failure(closing: Future[None]) -> None:
    if not closing.cancelled() and (error := closing.exception()) is not None:
        logger.error("what was given up did not end cleanly: %s", type(error).__name__)
