"""Any error as application/problem+json (RFC 9457), code and remedy apart, so that a client can raise it again."""

from __future__ import annotations

import json

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from reference_engine.errors import CodedError, EngineRequestError
from reference_engine.server.errors import problem_of

MEDIA_TYPE = "application/problem+json"


def problem_response(error: Exception) -> Response:
    problem = problem_of(_of_the_body(error) if isinstance(error, ValidationError) else error)
    code = _code(error, problem.status)
    detail, remedy = (error.message, error.remedy) if isinstance(error, CodedError) else (problem.message, "")
    document = {
        "type": "about:blank",
        "title": code.replace("_", " ").capitalize(),
        "status": problem.status,
        "detail": detail,
        "code": code,
        "remedy": remedy,
    }
    return Response(json.dumps(document), problem.status, dict(problem.headers), MEDIA_TYPE)


def _of_the_body(error: ValidationError) -> RequestValidationError:
    """As the framework reports a body; without the values, which may be prompts."""
    found = error.errors(include_input=False, include_url=False)
    return RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in found])


def _code(error: Exception, status: int) -> str:
    if isinstance(error, CodedError):
        return error.code
    refused = isinstance(error, ValidationError) or status in (413, 415)
    return EngineRequestError.code if refused else CodedError.code
