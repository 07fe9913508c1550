"""Server-sent events: bodies become events, a client that leaves ends the work done for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from reference_engine.server.envelope import Body
from reference_engine.server.errors import ClientGoneError, Problem, problem_of

T = TypeVar("T")

IN_BAND_STATUS = "reference_engine.in_band_status"
"""Key of the ASGI scope: the status of an error that came after the status line."""

DONE = "data: [DONE]\n\n"


def event(body: Body) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(',', ':'))}\n\n"


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled when the client hangs up first (then `ClientGoneError`)."""
    working = asyncio.ensure_future(work)
    hanging_up = asyncio.ensure_future(_hang_up(request))
    try:
        await asyncio.wait((working, hanging_up), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientGoneError
    finally:
        working.cancel()
        hanging_up.cancel()
        await asyncio.gather(working, hanging_up, return_exceptions=True)


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue


async def event_stream(request: Request, bodies: AsyncGenerator[Body], write_timeout_s: float) -> EventStream:
    """Waits for the first body before the status line goes out, so that a failure until then has its own status."""
    first = await while_connected(request, anext(bodies))
    return EventStream(first, bodies, write_timeout_s)


class EventStream(StreamingResponse):
    """Closes the source of its bodies as soon as the client is gone, and gives up on one that stops reading."""

    media_type = "text/event-stream"

    def __init__(self, first: Body, rest: AsyncGenerator[Body], write_timeout_s: float) -> None:
        super().__init__(self._events(first), headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        self._source = rest
        self._write_timeout_s = write_timeout_s
        self._failed: Problem | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self._write_timeout_s):
                await send(message)

        async with aclosing(self._source):
            await super().__call__(scope, receive, send_in_time)
        if self._failed is not None:
            scope[IN_BAND_STATUS] = self._failed.status

    async def _events(self, first: Body) -> AsyncIterator[str]:
        yield event(first)
        try:
            async for body in self._source:
                yield event(body)
        except Exception as error:  # noqa: BLE001 - the status line is out: the error can only go in-band
            self._failed = problem_of(error)
            yield event(self._failed.body())
            return
        yield DONE
