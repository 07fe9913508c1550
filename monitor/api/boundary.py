"""The outermost layer: gives every request its id, and turns whatever escapes into a problem."""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor import clock
from monitor.api.problem import problem_of
from monitor.store.ids import new_id

_HEADER = "x-request-id"
_GIVEN = re.compile(r"[A-Za-z0-9._:-]{1,128}")
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}


class Boundary:
    """Starlette's own handler for `Exception` raises it again, and uvicorn would then log its text."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope["monitor.request_id"] = request_id
        started = False

        async def marked(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                headers[_HEADER] = request_id
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, marked)
        except Exception as error:  # noqa: BLE001 - the boundary: logged with its id, answered as a problem
            problem = problem_of(error, request_id)
            if not started:
                await problem.response(scope["path"], request_id)(scope, receive, marked)


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get(_HEADER, "")
    return given if _GIVEN.fullmatch(given) else new_id("req", clock.now())
