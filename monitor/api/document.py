"""The OpenAPI document: what FastAPI finds in the routes, the one form of errors, and how to say who one is."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from monitor.access.sessions import cookie_name

_SECURITY_SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "bearerFormat": "mon_ID_SECRET"},
    "session": {"type": "apiKey", "in": "cookie", "name": cookie_name(secure=False)},
}


class FindingDocument(BaseModel):
    """`pointer` is a JSON pointer that begins with /body, /query, /path or /header."""

    pointer: str
    code: str
    detail: str


class Problem(BaseModel):
    """RFC 9457. `code` is stable across releases; `type` is its explanation."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    code: str
    errors: list[FindingDocument]


def document_of(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        schemas = document["components"]["schemas"]
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= problem.pop("$defs")
        schemas["Problem"] = problem
        document["components"]["securitySchemes"] = _SECURITY_SCHEMES
        _name_errors_once(document)
        # {}: reading is open on loopback before the first user exists, and /status always.
        document["security"] = [{"token": []}, {"session": []}, {}]
        app.openapi_schema = document
    return app.openapi_schema


def _name_errors_once(document: dict[str, Any]) -> None:
    """Every operation repeats its dozen errors; the document refers to one description of each."""
    shared: dict[str, Any] = {}
    for methods in document["paths"].values():
        for operation in methods.values():
            for status in [status for status in operation["responses"] if not status.startswith("2")]:
                shared[f"Problem{status}"] = operation["responses"][status]
                operation["responses"][status] = {"$ref": f"#/components/responses/Problem{status}"}
    document["components"]["responses"] = dict(sorted(shared.items()))
