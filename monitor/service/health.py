"""The routes that tell whether the service lives, works, and in numbers how it stands."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from monitor import clock
from monitor.access.guard import require
from monitor.access.scope import Scope
from monitor.api.gate import credentials
from monitor.api.problem import Problem
from monitor.api.state import ApiState
from monitor.errors import Finding, NotReadyError, StorageError
from monitor.service.metrics import Metrics
from monitor.service.reach import answers
from monitor.service.readiness import Lacking, Signs, lacking
from monitor.store.beats import Beats
from monitor.store.figures import Standing
from monitor.store.schema import CURRENT
from monitor.store.upkeep import Upkeep
from monitor.worker.canary import CONNECTIVITY, Connectivity
from monitor.worker.tick import TICKING, Ticking


def health_routes(state: ApiState, broker_url: str | None) -> APIRouter:
    """`/healthz`, `/readyz` and `/metrics`, for the application that has the layers of `create_api`."""
    router = APIRouter(include_in_schema=False)
    metrics = Metrics(Standing(state.store.sessions))

    @router.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @router.get("/readyz")
    def readyz(request: Request, deep: bool = False) -> Response:
        missing = _database(state) or (_work(state, broker_url) if deep else ())
        if missing:
            return _not_ready(missing, request)
        return Response('{"status":"ready"}', media_type="application/json", headers={"Cache-Control": "no-store"})

    @router.get("/metrics")
    def numbers(request: Request) -> Response:
        require(state.guard.actor(credentials(request), clock.now()), Scope.READ)
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return router


def _database(state: ApiState) -> tuple[Lacking, ...]:
    try:
        revision = Upkeep(state.store.sessions).revision()
    except StorageError as error:
        return (Lacking("database", error.message),)
    if revision != CURRENT.revision:
        return (Lacking("schema", f"The database has schema {revision}, this program {CURRENT.revision}."),)
    return ()


def _work(state: ApiState, broker_url: str | None) -> tuple[Lacking, ...]:
    beats = Beats(state.store.sessions)
    seen, ticking = Connectivity.from_json(beats.setting(CONNECTIVITY)), Ticking.from_json(beats.setting(TICKING))
    signs = Signs(
        broker=broker_url is not None and answers(broker_url),
        tick_at=None if ticking is None else ticking.at,
        canary_at=None if seen is None else seen.at,
    )
    return lacking(signs, clock.now())


def _not_ready(missing: tuple[Lacking, ...], request: Request) -> Response:
    findings = [Finding("/path/readyz", one.name, one.sentence) for one in missing]
    detail = " ".join(one.sentence for one in missing)
    problem = Problem(NotReadyError.code, NotReadyError.status, detail, findings, {"Retry-After": "5"})
    return problem.response(request.url.path, request.scope.get("monitor.request_id", ""))
