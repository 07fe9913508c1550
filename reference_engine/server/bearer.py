"""Lets in who brings the service's token; whether the service is alive, anybody may ask."""

from __future__ import annotations

import secrets

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from reference_engine.server.errors import ApiError
from reference_engine.server.problem_document import problem_response

OPEN_TO_ALL = "/healthz"


class BearerGate:
    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == OPEN_TO_ALL or self._admits(scope):
            await self._app(scope, receive, send)
            return
        headers = {"WWW-Authenticate": "Bearer"}
        refusal = ApiError("The bearer token is missing or wrong.", http_status=401, headers=headers)
        await problem_response(refusal)(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        brought = Headers(scope=scope).get("authorization", "")
        return secrets.compare_digest(brought.encode(), self._expected)
