"""Recognises the sender of every request to the API, and answers one that is sent again as it was answered before."""

from __future__ import annotations

import hashlib
import re

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor import clock
from monitor.access.actor import Actor, Via
from monitor.access.guard import Credentials
from monitor.api.shapes import is_text
from monitor.api.state import ApiState
from monitor.errors import (
    Finding,
    ForbiddenError,
    IdempotencyKeyReusedError,
    NotFoundError,
    RequestError,
    RequestInProgressError,
)
from monitor.store.idempotency import KeptAnswer, RequestKey

PREFIX = "/api/v1"
_SAFE = ("GET", "HEAD", "OPTIONS")
_KEY = re.compile(r"[\x21-\x7e]{1,256}")
# Its answer holds a secret, which is kept nowhere.
_NEVER_KEPT = (f"{PREFIX}/tokens",)
_KEPT_HEADERS = ("content-type", "location", "etag")


class Gate:
    """Stands before the routes under /api/v1; whatever else the application serves passes by."""

    def __init__(self, app: ASGIApp, state: ApiState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        if not is_text(scope["path"]):
            raise NotFoundError("There is no such address.")
        actor = await run_in_threadpool(self._state.guard.actor, credentials(HTTPConnection(scope)), clock.now())
        scope["monitor.actor"] = actor
        request = Request(scope, receive)
        if actor.via is Via.SESSION and scope["method"] not in _SAFE:
            _check_csrf(request, self._state, actor)
        key = request.headers.get("idempotency-key")
        repeatable = scope["method"] == "POST" and scope["path"] not in _NEVER_KEPT
        if repeatable and key is not None and actor.scopes:
            await self._once(key, actor, request, send)
        else:
            await self._app(scope, receive, send)

    async def _once(self, key: str, actor: Actor, request: Request, send: Send) -> None:
        if _KEY.fullmatch(key) is None:
            raise RequestError(
                "The Idempotency-Key cannot be used.",
                findings=[Finding("/header/Idempotency-Key", "pattern", "1 to 256 visible ASCII characters")],
            )
        body = await request.body()
        kept, same = self._state.idempotency, RequestKey(key, actor.name[:128], request.url.path[:256])
        begun = await run_in_threadpool(kept.begin, same, _digest(request, body), clock.now())
        if begun.differs:
            raise IdempotencyKeyReusedError(
                "This Idempotency-Key was used for another request.", remedy="Use a new one for a new request."
            )
        if begun.at_work:
            raise RequestInProgressError(
                "A request with this Idempotency-Key is being answered.", headers={"Retry-After": "1"}
            )
        if begun.answer is not None:
            replayed = {**begun.answer.headers, "Idempotency-Replayed": "true"}
            await Response(begun.answer.body, begun.answer.status, replayed)(request.scope, request.receive, send)
            return
        await self._answer_and_keep(same, body, request, send)

    async def _answer_and_keep(self, same: RequestKey, body: bytes, request: Request, send: Send) -> None:
        recorded = _Recorded(send)
        try:
            await self._app(request.scope, _given(body, request.receive), recorded)
        finally:
            if 200 <= recorded.status < 300:
                answer = KeptAnswer(recorded.status, recorded.headers, bytes(recorded.body))
                await run_in_threadpool(self._state.idempotency.keep, same, answer, clock.now())
            else:
                # Nothing was done, so that the same key may try again.
                await run_in_threadpool(self._state.idempotency.forget, same)


class _Recorded:
    """Passes an answer on and remembers it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            told = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
            self.headers = {name: told[name] for name in _KEPT_HEADERS if name in told}
        else:
            self.body += message.get("body", b"")
        await self._send(message)


def credentials(connection: HTTPConnection) -> Credentials:
    """What of a request tells who sends it."""
    return Credentials(
        authorization=connection.headers.get("authorization"),
        cookies=connection.cookies,
        host=connection.headers.get("host"),
        address=connection.client.host if connection.client else "",
        secure=connection.url.scheme == "https",
    )


def _check_csrf(request: Request, state: ApiState, actor: Actor) -> None:
    """A browser sends its cookie along whoever made it send the request; the token only our own pages know."""
    if not state.key.csrf_valid(request.headers.get("x-csrf-token", ""), actor.session):
        raise ForbiddenError(
            "The request came with a session's cookie but without its CSRF token.",
            remedy="Send X-CSRF-Token, or use a token instead of the session.",
        )


def _digest(request: Request, body: bytes) -> str:
    return hashlib.sha256(request.url.query.encode() + b"\n" + body).hexdigest()


def _given(body: bytes, receive: Receive) -> Receive:
    """The body that was read already, once more."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def once_more() -> Message:
        return waiting.pop() if waiting else await receive()

    return once_more
