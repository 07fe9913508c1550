"""Any error as the OpenAI error body: status, type, parameter and code, and never a traceback or a prompt."""

from __future__ import annotations

import logging
import secrets
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reference_engine.errors import CodedError, EngineRequestError
from reference_engine.server.validation import first_error

logger = logging.getLogger("reference_engine.server")

_HTTP_CODES = {400: "invalid_json", 404: "not_found", 405: "method_not_allowed", 413: "request_too_large"}


class ApiError(EngineRequestError):
    """A request the HTTP layer refuses. `wire_code` and `param` are those of the OpenAI error body."""

    def __init__(
        self,
        message: str,
        *,
        http_status: int = 400,
        wire_code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.http_status = http_status
        self.wire_code = wire_code
        self.param = param
        self.headers = dict(headers or {})


class ClientGoneError(ApiError):
    """The client hung up before its answer was ready; nobody reads this."""

    def __init__(self) -> None:
        super().__init__("The client closed the connection.", http_status=499)


@dataclass(frozen=True, slots=True)
class Problem:
    """One error as the wire shows it."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def type(self) -> str:
        if self.status == 429:
            return "rate_limit_error"
        return "server_error" if self.status >= 500 else "invalid_request_error"

    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}

    def response(self) -> JSONResponse:
        return JSONResponse(self.body(), status_code=self.status, headers=dict(self.headers))


def problem_of(error: Exception) -> Problem:
    """What the client is told of `error`. The server's own failures are logged here, once, without their text."""
    match error:
        case ApiError():
            return Problem(error.http_status, error.message, error.param, error.wire_code, error.headers)
        case RequestValidationError():
            finding = first_error(error.errors())
            return Problem(400, finding.message, finding.param, finding.code)
        case HTTPException():
            code = _HTTP_CODES.get(error.status_code)
            return Problem(error.status_code, str(error.detail), code=code, headers=error.headers or {})
        case EngineRequestError():
            return Problem(error.status, str(error), code=error.code)
        case CodedError():
            _log(error, error.code)
            return Problem(error.status, str(error), code=error.code)
        case _:
            error_id = secrets.token_hex(8)
            _log(error, error_id)
            message = f"The server failed while it handled the request. Error id {error_id}; its log has the place."
            return Problem(500, message, code="internal_error")


def _log(error: Exception, reference: str) -> None:
    """The type and the place only: an exception's text may quote a private prompt."""
    frames = traceback.extract_tb(error.__traceback__)
    place = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    logger.error("%s: %s at %s", reference, type(error).__name__, place)


def error_response(error: Exception) -> Response:
    return problem_of(error).response()


class ErrorBoundary:
    """Outermost ASGI layer: whatever escapes becomes what `respond` makes of it, or ends an answer that has begun.

    Starlette's own handler for `Exception` raises it again, and uvicorn would then log its text.
    """

    def __init__(self, app: ASGIApp, respond: Callable[[Exception], Response] = error_response) -> None:
        self._app = app
        self._respond = respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def noting_start(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noting_start)
        except Exception as error:  # noqa: BLE001 - the boundary: logged with an id, answered as 500
            response = self._respond(error)
            if not started:
                await response(scope, receive, send)
