"""Stops reading a request body that is too large, whatever length its header claims."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """Starlette's own limiter answers in plain text; this one raises, so the answer is the API's error body."""

    def __init__(self, app: ASGIApp, max_body_bytes: int) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_body_bytes:
                # The only exception that FastAPI lets through while it reads a body.
                raise HTTPException(413, f"The body is larger than {self._max_body_bytes} bytes.")
            return message

        await self._app(scope, receive_within_limit if scope["type"] == "http" else receive, send)
