"""Puts the API together: the routes of every resource, one form of error, and the layers around them."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from monitor.api.body_limit import BodyLimit
from monitor.api.boundary import Boundary
from monitor.api.document import document_of
from monitor.api.gate import PREFIX, Gate
from monitor.api.problem import problem_of
from monitor.api.reading import add_pages
from monitor.api.resources import ROUTERS
from monitor.api.state import ApiState
from reference_engine.errors import CodedError

MOST_BODY_BYTES = 1_000_000

_DESCRIPTION = (
    "Lists come in pages (`limit`, `cursor`; `Link: rel=next`). Every error is a problem document (RFC 9457). "
    "A change or deletion names the object's `ETag` in `If-Match`. A POST that carries an `Idempotency-Key` may be "
    "sent again. Times are RFC 3339 in UTC."
)


def create_api(state: ApiState) -> FastAPI:
    """The application over an open store. Whoever adds pages to it serves them from other paths than /api/v1."""
    app = described_api()
    app.state.api = state
    add_pages(app)
    for kind in (RequestValidationError, HTTPException, CodedError):
        app.add_exception_handler(kind, _answer_error)
    # The last one added is the outermost.
    app.add_middleware(Gate, state=state)
    app.add_middleware(BodyLimit, most_bytes=MOST_BODY_BYTES)
    app.add_middleware(Boundary)
    return app


def described_api() -> FastAPI:
    """The routes with their OpenAPI document and nothing to work with."""
    app = FastAPI(
        title="Endpoint monitor",
        version=version("endpoint-monitor"),
        description=_DESCRIPTION,
        openapi_url="/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
    )
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX)
    app.openapi = lambda: document_of(app)  # type: ignore[method-assign]
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name


async def _answer_error(request: Request, error: Exception) -> Response:
    request_id: str = request.scope["monitor.request_id"]
    response = problem_of(error, request_id).response(request.url.path, request_id)
    if response.status_code == 405:
        response.headers["Allow"] = ", ".join(_methods_at(request))
    return response


def _methods_at(request: Request) -> list[str]:
    """Starlette names the methods of the first route that matches the path; there may be several."""
    paths: dict[str, dict[str, object]] = request.app.openapi()["paths"]
    matching = [methods for path, methods in paths.items() if compile_path(path)[0].match(request.url.path)]
    return sorted({method.upper() for methods in matching for method in methods}) or ["GET"]
