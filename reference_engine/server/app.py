"""The routes, and how errors leave them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from reference_engine.errors import CodedError
from reference_engine.interface import ServableBackend
from reference_engine.server.body_limit import BodyLimit
from reference_engine.server.chat import ChatAnswer
from reference_engine.server.clock import unix_seconds
from reference_engine.server.completions import CompletionAnswer
from reference_engine.server.errors import ErrorBoundary, error_response
from reference_engine.server.measured import Measured
from reference_engine.server.metrics import Metrics
from reference_engine.server.request_time import RequestTime
from reference_engine.server.schema import ChatRequest, CompletionRequest, ScoreRequest
from reference_engine.server.score import ScoreAnswer
from reference_engine.server.served import ServedModel
from reference_engine.server.settings import ServerSettings
from reference_engine.server.stream import event_stream, while_connected


def create_app(engine: ServableBackend, settings: ServerSettings) -> FastAPI:
    """The server over `engine`, which stays the caller's to close. Raises `EngineRequestError` for settings that do
    not suit the model: an unknown profile, a chat template that cannot be rendered."""
    served = ServedModel(engine, settings)
    served.warm_up()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(served.close)

    app = FastAPI(title="Reference engine", lifespan=lifespan, docs_url=None, redoc_url=None)
    metrics = Metrics(served)
    app.add_middleware(BodyLimit, max_body_bytes=settings.max_body_bytes)
    app.add_middleware(RequestTime, most_s=settings.request_s)
    app.add_middleware(ErrorBoundary)
    app.add_middleware(Measured, metrics=metrics)
    for kind in (RequestValidationError, HTTPException, CodedError):
        app.add_exception_handler(kind, _answer_error)
    _add_state_routes(app, served, metrics)
    _add_model_routes(app, served)
    _add_answer_routes(app, served)
    app.state.drain = partial(served.turns.drain, settings.drain_s)
    app.state.close = served.close
    return app


async def _answer_error(_: Request, error: Exception) -> Response:
    return error_response(error)


def _add_state_routes(app: FastAPI, served: ServedModel, metrics: Metrics) -> None:
    @app.get("/health")
    async def health() -> Response:
        """Answers only once the model is loaded; before, the port is closed. While the server stops, 503."""
        draining = served.turns.draining
        state = {
            "status": "draining" if draining else "ok",
            "model": served.name,
            "profile": served.settings.profile,
            "system_fingerprint": served.fingerprint,
            "exactness": served.exactness,
            "remark": served.remark,
            "active": served.turns.active,
            "waiting": served.turns.waiting,
            "draining": draining,
        }
        return JSONResponse(state, status_code=503 if draining else 200)

    @app.get("/metrics")
    async def numbers() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _add_model_routes(app: FastAPI, served: ServedModel) -> None:
    started = unix_seconds()

    def card(model_id: str) -> dict[str, Any]:
        return {"id": model_id, "object": "model", "created": started, "owned_by": "reference-engine"}

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [card(served.name)]}

    @app.get("/v1/models/{model_id:path}")
    async def model(model_id: str) -> dict[str, Any]:
        return card(served.check_name(model_id))


def _add_answer_routes(app: FastAPI, served: ServedModel) -> None:
    async def answer(request: Request, prepared: ChatAnswer | CompletionAnswer, streamed: bool | None) -> Response:
        if streamed:
            return await event_stream(request, prepared.chunks(), served.settings.write_timeout_s)
        return JSONResponse(await while_connected(request, prepared.whole()))

    @app.post("/v1/chat/completions", response_model=None)
    async def chat_completions(body: ChatRequest, request: Request) -> Response:
        return await answer(request, await ChatAnswer.prepare(served, body), body.stream)

    @app.post("/v1/completions", response_model=None)
    async def completions(body: CompletionRequest, request: Request) -> Response:
        return await answer(request, await CompletionAnswer.prepare(served, body), body.stream)

    @app.post("/v1/score", response_model=None)
    async def score(body: ScoreRequest, request: Request) -> Response:
        prepared = await ScoreAnswer.prepare(served, body)
        return Response(await while_connected(request, prepared.whole()), media_type="application/json")
