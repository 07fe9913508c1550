"""The routes of a reference service: one for each method of a tokenizer or an engine, those of conversations, and how
errors leave them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reference_engine import wire
from reference_engine.errors import CodedError
from reference_engine.server.bearer import OPEN_TO_ALL, BearerGate
from reference_engine.server.body_limit import BodyLimit
from reference_engine.server.conversations import ROOT, Conversations
from reference_engine.server.errors import ErrorBoundary
from reference_engine.server.kept import Kept
from reference_engine.server.pool import ReferencePool
from reference_engine.server.problem_document import problem_response
from reference_engine.server.questions import (
    Converse,
    Describe,
    Fingerprint,
    Generate,
    NextTokens,
    Question,
    Render,
    Score,
    TokenBytes,
    Tokenize,
    check_is_json,
)
from reference_engine.server.stream import while_connected

Q = TypeVar("Q", bound=Question)

_MAX_BODY_BYTES = 64 * 1024 * 1024
_Questions = Mapping[str, type[Question]]
_OF_TOKENIZERS: _Questions = {"open": Question, "tokenize": Tokenize, "token_bytes": TokenBytes, "render": Render}
_OF_ENGINES: _Questions = {**_OF_TOKENIZERS, "describe": Describe, "fingerprint": Fingerprint}
_COMPUTED: _Questions = {"score": Score, "next_tokens": NextTokens}


def create_pool_app(pool: ReferencePool, token: str | None) -> Starlette:
    """The service over `pool`, which stays the caller's to close. Without a token it answers anybody."""
    layers = [Middleware(ErrorBoundary, respond=problem_response)]
    if token is not None:
        layers.append(Middleware(BearerGate, token=token))
    layers.append(Middleware(BodyLimit, max_body_bytes=_MAX_BODY_BYTES))
    handlers = dict.fromkeys((ValidationError, HTTPException, CodedError), _answer_error)
    return Starlette(routes=_routes(pool), middleware=layers, exception_handlers=handlers)


async def _answer_error(_: Request, error: Exception) -> Response:
    return problem_response(error)


def _routes(pool: ReferencePool) -> list[Route]:
    async def alive(_: Request) -> Response:
        return JSONResponse({"status": "ok", "open": len(pool.engines)})

    conversations = Conversations(pool)
    at_hand: list[tuple[str, Kept[Any], _Questions]] = [
        ("tokenizer", pool.tokenizers, _OF_TOKENIZERS),
        ("engine", pool.engines, _OF_ENGINES),
    ]
    return [
        Route(OPEN_TO_ALL, alive),
        *(
            _route(f"/v1/{kind}/{name}", question, partial(_told, pool, kept))
            for kind, kept, questions in at_hand
            for name, question in questions.items()
        ),
        *(_route(f"/v1/engine/{name}", question, partial(_computed, pool)) for name, question in _COMPUTED.items()),
        _route("/v1/engine/generate", Generate, partial(_generated, pool)),
        _route("/v1/engine/converse", Converse, conversations.prepared),
        Route(f"{ROOT}/{{name}}/{{what:path}}", conversations, methods=["POST"]),
    ]


def _route(path: str, kind: type[Q], answer: Callable[[Q], Coroutine[Any, Any, wire.Document]]) -> Route:
    async def endpoint(request: Request) -> Response:
        check_is_json(request.headers)
        question = kind.model_validate_json(await request.body())
        return JSONResponse(await while_connected(request, answer(question)))

    return Route(path, endpoint, methods=["POST"])


async def _told(pool: ReferencePool, kept: Kept[Any], question: Question) -> wire.Document:
    """What needs no forward pass does not wait for one."""
    opened = await asyncio.to_thread(kept.at_hand, question.model)
    if opened is None:
        opened = await pool.compute(partial(kept.get, question.model))
    answer = await asyncio.to_thread(question.answer, opened.of_revision(question.revision))
    return {"revision": opened.revision, **answer}


async def _computed(pool: ReferencePool, question: Question) -> wire.Document:
    return await pool.compute(lambda: question.answer(pool.engines.get(question.model).of_revision(question.revision)))


async def _generated(pool: ReferencePool, question: Generate) -> wire.Document:
    """Token by token, so that others get their turns in between, and a client that leaves ends it."""
    tokens = await pool.compute(
        lambda: question.started(pool.engines.get(question.model).of_revision(question.revision))
    )
    found = []
    while (token := await pool.compute(partial(next, tokens, None))) is not None:
        found.append(wire.generated_document(token))
    return {"tokens": found}
