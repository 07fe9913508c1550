"""Conversations with the models of a pool: the server's own routes, under a path that says which model is meant."""

from __future__ import annotations

import asyncio
import base64
from functools import partial

from fastapi import FastAPI
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from reference_engine import wire
from reference_engine.interface import ServableBackend
from reference_engine.server.errors import ApiError
from reference_engine.server.kept import Opened
from reference_engine.server.pool import ReferencePool
from reference_engine.server.questions import Converse, check_is_json

ROOT = "/v1/conversations"


class Conversations:
    """ASGI application. `name`, a parameter of its path, holds all that is to be known, so that a conversation goes on
    with a service that was restarted. A model is not closed while it answers."""

    def __init__(self, pool: ReferencePool) -> None:
        self._pool = pool

    async def prepared(self, question: Converse) -> wire.Document:
        """The path under which conversations are held. The server is made now, where an error keeps its code."""
        opened, _ = await self._ready(question)
        meant = question.model_copy(update={"revision": opened.revision})
        return {"revision": opened.revision, "path": f"{ROOT}/{_name(meant)}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        check_is_json(Headers(scope=scope))
        name = scope["path_params"]["name"]
        question = _question(name)
        opened, server = await self._ready(question)
        # It may be closed by now. Entering it there would be lost where the wait is cancelled.
        while not opened.users.enter():
            opened, server = await self._ready(question)
        try:
            await server({**scope, "root_path": f"{scope.get('root_path', '')}{ROOT}/{name}"}, receive, send)
        finally:
            opened.users.leave()

    async def _ready(self, question: Converse) -> tuple[Opened[ServableBackend], FastAPI]:
        at_hand = await asyncio.to_thread(self._at_hand, question)
        if at_hand is not None:
            return at_hand
        return await self._pool.compute(partial(self._opened, question))

    def _at_hand(self, question: Converse) -> tuple[Opened[ServableBackend], FastAPI] | None:
        opened = self._pool.engines.at_hand(question.model)
        if opened is None:
            return None
        server = self._pool.server_at_hand(opened.of_revision(question.revision), question.profile)
        return None if server is None else (opened, server)

    def _opened(self, question: Converse) -> tuple[Opened[ServableBackend], FastAPI]:
        opened = self._pool.engines.get(question.model)
        return opened, self._pool.server(opened.of_revision(question.revision), question.profile)


def _name(question: Converse) -> str:
    return base64.urlsafe_b64encode(question.model_dump_json().encode()).decode().rstrip("=")


def _question(name: str) -> Converse:
    try:
        return Converse.model_validate_json(base64.b64decode(name + "=" * (-len(name) % 4), b"-_", validate=True))
    except (ValidationError, ValueError) as error:
        raise ApiError("There is no such conversation.", http_status=404) from error
