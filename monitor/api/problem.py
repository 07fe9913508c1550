"""Any error as application/problem+json (RFC 9457): what is wrong, where, and what to do; never a value."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from monitor.errors import (
    ConfigError,
    Finding,
    MalformedRequestError,
    MethodNotAllowedError,
    NotFoundError,
    RequestError,
    RequestTooLargeError,
)
from monitor.redaction import redact_known, safe_text
from reference_engine.errors import CodedError

MEDIA_TYPE = "application/problem+json"
TYPE_BASE = "/api/errors#"

_logger = logging.getLogger("monitor.api")

_BY_STATUS: Mapping[int, type[RequestError]] = {
    400: MalformedRequestError,
    404: NotFoundError,
    405: MethodNotAllowedError,
    413: RequestTooLargeError,
}
_MOST_FINDINGS = 50


@dataclass(frozen=True, slots=True)
class Problem:
    """One error as the wire shows it; `instance` and the request's id are added by who answers."""

    code: str
    status: int
    detail: str
    findings: Sequence[Finding] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def document(self, instance: str, request_id: str) -> dict[str, Any]:
        return {
            "type": TYPE_BASE + self.code,
            "title": title_of(self.code),
            "status": self.status,
            "detail": _clean(self.detail),
            "instance": _clean(instance),
            "request_id": request_id,
            "code": self.code,
            "errors": [_clean_finding(finding) for finding in self.findings[:_MOST_FINDINGS]],
        }

    def response(self, instance: str, request_id: str) -> Response:
        text = json.dumps(self.document(instance, request_id), ensure_ascii=True)
        return Response(text, self.status, {**self.headers, "Cache-Control": "no-store"}, MEDIA_TYPE)


def title_of(code: str) -> str:
    return code.replace("_", " ").capitalize()


def problem_of(error: Exception, request_id: str) -> Problem:
    """What the client is told. The server's own failures are logged here, once, without their text."""
    match error:
        case RequestError():
            return Problem(error.code, error.status, str(error), error.findings, error.headers)
        case RequestValidationError():
            return _invalid(error)
        case HTTPException():
            return _http(error)
        case ConfigError():
            return Problem(error.code, error.status, str(error), _config_findings(error))
        case CodedError():
            _log(error, request_id)
            return Problem(error.code, error.status, str(error), headers=_retry(error.status))
        case _:
            _log(error, request_id)
            detail = f"The service failed on this request. Its log has the place under {request_id}."
            return Problem("internal_error", 500, detail)


def _retry(status: int) -> dict[str, str]:
    return {"Retry-After": "5"} if status == 503 else {}


def _http(error: HTTPException) -> Problem:
    kind = _BY_STATUS.get(error.status_code, RequestError if error.status_code < 500 else CodedError)
    told = {
        404: "There is no such address.",
        405: "This address does not take the method.",
        413: "The body of the request is too large.",
    }
    detail = told.get(error.status_code, str(error.detail))
    return Problem(kind.code, error.status_code, detail, headers=dict(error.headers or {}))


def _invalid(error: RequestValidationError) -> Problem:
    findings = [finding_of(each) for each in error.errors()]
    if any(finding.code == "json_invalid" for finding in findings):
        return Problem(MalformedRequestError.code, MalformedRequestError.status, "The body is not JSON.", findings)
    detail = "; ".join(f"{finding.pointer}: {finding.detail}" for finding in findings[:3])
    return Problem(RequestError.code, RequestError.status, f"The request is not valid: {detail}.", findings)


def finding_of(detail: Mapping[str, Any]) -> Finding:
    """Pydantic's error without the input that it is about."""
    message = str(detail["msg"]).removeprefix("Value error, ")
    return Finding(pointer(detail["loc"]), str(detail["type"]), message)


def pointer(steps: Iterable[object]) -> str:
    """A JSON pointer (RFC 6901) of the steps."""
    return "".join("/" + str(step)[:64].replace("~", "~0").replace("/", "~1") for step in steps)


def _config_findings(error: ConfigError) -> list[Finding]:
    lines = error.message.splitlines()[1:] or error.message.splitlines()
    return [Finding("/body", error.code, line) for line in lines]


def _clean(text: str) -> str:
    return safe_text(redact_known(text))


def _clean_finding(finding: Finding) -> dict[str, str]:
    return {name: _clean(value) for name, value in asdict(finding).items()}


def _log(error: Exception, request_id: str) -> None:
    """The type and the place only: an exception's text may quote what was sent."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    place = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    _logger.error("%s: %s at %s", request_id, type(error).__name__, place)
