"""Counts and times every request, whatever becomes of it."""

from __future__ import annotations

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reference_engine.server.metrics import Metrics
from reference_engine.server.stream import IN_BAND_STATUS

_CLIENT_GONE = 499


class Measured:
    """ASGI layer outside of all others."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.monotonic()
        status, first_at = _CLIENT_GONE, None

        async def noting(message: Message) -> None:
            nonlocal status, first_at
            if message["type"] == "http.response.start":
                status = message["status"]
            elif first_at is None and message.get("body") and message.get("more_body"):
                first_at = time.monotonic()
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = _route(scope)
            self._metrics.requests.labels(route, str(scope.get(IN_BAND_STATUS, status))).inc()
            self._metrics.duration.labels(route).observe(time.monotonic() - begun)
            if first_at is not None:
                self._metrics.first_token.labels(route).observe(first_at - begun)


def _route(scope: Scope) -> str:
    """As it was declared; paths that do not exist are one."""
    return getattr(scope.get("route"), "path", "none")
