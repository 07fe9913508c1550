"""The web application over an open store: the pages, and beside them the API and the routes of health."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from dashboards.headers import PageHeaders
from dashboards.views import access, alerts, charts, decisions, evidence
from dashboards.views.endpoint import endpoint
from dashboards.views.model import model
from dashboards.views.overview import overview
from dashboards.visit import View, answering, refused
from monitor.access.scope import Scope
from monitor.api.app import create_api
from monitor.api.body_limit import BodyLimit
from monitor.api.boundary import Boundary
from monitor.api.problem import problem_of
from monitor.api.state import ApiState
from monitor.service.health import health_routes

MOST_FORM_BYTES = 64_000
_STATIC = Path(__file__).parent / "static"
# What machines ask for: these answer errors as problem documents, everything else as pages.
_FOR_MACHINES = ("api", "openapi.json", "healthz", "readyz", "metrics")

# Path, view, what the visitor has to be allowed.
_PAGES: tuple[tuple[str, View, Scope | None], ...] = (
    ("/", overview, Scope.READ),
    ("/endpoints/{endpoint_id}", endpoint, Scope.READ),
    # These two before those of any metric.
    ("/endpoints/{endpoint_id}/charts/evidence.svg", evidence.evidence_picture, Scope.READ),
    ("/endpoints/{endpoint_id}/series/evidence", evidence.looks_table, Scope.READ),
    ("/endpoints/{endpoint_id}/charts/{metric}.svg", charts.chart_picture, Scope.READ),
    ("/endpoints/{endpoint_id}/series/{metric}", charts.series_table, Scope.READ),
    ("/models/{model}", model, Scope.READ),
    ("/alerts", alerts.alert_list, Scope.READ),
    ("/alerts/{alert_id}", alerts.alert_detail, Scope.READ),
    ("/sign-in", access.sign_in_form, None),
    ("/setup", access.set_up_form, None),
)
_FORMS: tuple[tuple[str, View, Scope | None], ...] = (
    ("/alerts/{alert_id}/ack", decisions.ack, Scope.ALERTS_WRITE),
    ("/alerts/{alert_id}/unack", decisions.unack, Scope.ALERTS_WRITE),
    ("/alerts/{alert_id}/resolve", decisions.resolve, Scope.ALERTS_WRITE),
    ("/alerts/{alert_id}/comment", decisions.comment, Scope.ALERTS_WRITE),
    ("/alerts/{alert_id}/silence", decisions.silence, Scope.ALERTS_WRITE),
    ("/alerts/{alert_id}/silences/{silence_id}/end", decisions.end_silence, Scope.ALERTS_WRITE),
    ("/sign-in", access.sign_in, None),
    ("/sign-out", access.sign_out, Scope.READ),
    ("/setup", access.set_up, None),
)


class Site:
    """Sends each request to the pages or to the API."""

    def __init__(self, pages: ASGIApp, api: ASGIApp) -> None:
        self._pages = pages
        self._api = api

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        first = str(scope.get("path", "")).split("/")[1:2]
        app = self._api if first and first[0] in _FOR_MACHINES else self._pages
        await app(scope, receive, send)


def create_site(state: ApiState, broker_url: str | None = None) -> ASGIApp:
    """`broker_url` is what the routes of health ask; None: there is no broker."""
    api = create_api(state)
    api.include_router(health_routes(state, broker_url))
    return Site(create_pages(state), api)


def create_pages(state: ApiState) -> Starlette:
    routes: list[BaseRoute] = [
        Route(path, answering(state, view, needed), methods=["GET"]) for path, view, needed in _PAGES
    ]
    routes += [Route(path, answering(state, view, needed), methods=["POST"]) for path, view, needed in _FORMS]
    routes.append(Mount("/static", StaticFiles(directory=_STATIC), name="static"))
    return Starlette(
        routes=routes,
        # The first one is the outermost.
        middleware=[Middleware(Boundary), Middleware(PageHeaders), Middleware(BodyLimit, most_bytes=MOST_FORM_BYTES)],
        exception_handlers={HTTPException: _refused},
    )


async def _refused(request: Request, error: Exception) -> Response:
    return refused(request, problem_of(error, request.scope["monitor.request_id"]))
