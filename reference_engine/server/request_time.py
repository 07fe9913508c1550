"""How long a request may take: what its header says, and no longer than the server allows."""

from __future__ import annotations

import asyncio
import math

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from reference_engine.server.errors import ApiError
from reference_engine.server.time_limits import REQUEST_ENDS

HEADER = "X-Request-Timeout-Seconds"


class RequestTime:
    """ASGI layer: sets `REQUEST_ENDS`, counted from the request's first byte. Raises `ApiError` (400) for a header that
    is no number of seconds."""

    def __init__(self, app: ASGIApp, most_s: float | None) -> None:
        self._app = app
        self._most_s = most_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            allowed = [one for one in (self._most_s, _asked(Headers(scope=scope))) if one is not None]
            ends = asyncio.get_running_loop().time() + min(allowed) if allowed else None
            REQUEST_ENDS.set(ends)
        await self._app(scope, receive, send)


def _asked(headers: Headers) -> float | None:
    text = headers.get(HEADER)
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ApiError(
            f"Invalid header {HEADER}: it is not a number of seconds above 0, such as 30.",
            wire_code="invalid_value",
            param=HEADER,
        )
    return seconds
