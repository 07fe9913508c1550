"""Stops reading a request body that is too large, whatever length its header claims."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """Starlette's own limiter answers in plain text; this one raises, so that the answer is a problem."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self._app = app
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = 0

        async def within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._most_bytes:
                # The only exception that FastAPI lets through while it reads a body.
                raise HTTPException(413)
            return message

        await self._app(scope, within_limit if scope["type"] == "http" else receive, send)
