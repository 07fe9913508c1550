"""Endpoints that break the contract, each in one way. They are handlers for a ScriptedServer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Handler, Received
from tests.servers.ports import free_port

HTML = "<!doctype html>\n<html><head><title>Sign in</title></head><body>Please sign in.</body></html>"


def closed_port_url() -> str:
    """A base URL at which the connection is refused."""
    return f"http://127.0.0.1:{free_port()}/v1"


def error(message: str, *, code: Any = None, param: str | None = None, kind: str = "invalid_request_error") -> Any:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def always(
    status: int,
    body: bytes | str | Mapping[str, Any],
    *,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Handler:
    """The same answer to everything."""

    async def handler(_: Received, connection: Connection) -> None:
        await connection.reply(status, body, content_type=content_type, headers=headers)

    return handler


def first(count: int, handler: Handler, then: Handler | None = None) -> Handler:
    """`handler` for the first `count` requests, then a lawful endpoint (or `then`)."""
    lawful = then or Lawful()
    seen = 0

    async def both(received: Received, connection: Connection) -> None:
        nonlocal seen
        seen += 1
        await (handler if seen <= count else lawful)(received, connection)

    return both


def every(count: int, handler: Handler) -> Handler:
    """`handler` for each `count`-th request, a lawful endpoint for the others."""
    lawful = Lawful()
    seen = 0

    async def both(received: Received, connection: Connection) -> None:
        nonlocal seen
        seen += 1
        await (lawful if seen % count else handler)(received, connection)

    return both


async def unauthorized(received: Received, connection: Connection) -> None:
    """401, quoting the key as some do."""
    key = received.headers.get("authorization", "").removeprefix("Bearer ")
    await connection.reply(401, error(f"Incorrect API key provided: {key}.", code="invalid_api_key"))


def rate_limited(retry_after: str | None = None) -> Handler:
    headers = {"Retry-After": retry_after} if retry_after is not None else {}
    return always(429, error("Rate limit reached", code="rate_limit_exceeded"), headers=headers)


def html(status: int = 200) -> Handler:
    return always(status, HTML, content_type="text/html; charset=utf-8")


async def keep_alive_for_ever(_: Received, connection: Connection) -> None:
    """An event stream of comments that never brings an event."""
    await connection.begin()
    while True:
        await connection.chunk(": keep-alive\n\n")
        await asyncio.sleep(0.01)


async def pings_for_ever(_: Received, connection: Connection) -> None:
    """An event stream of data events that never brings an answer."""
    await connection.begin()
    while True:
        await connection.event("ping")
        await asyncio.sleep(0.01)


async def says_nothing(_: Received, connection: Connection) -> None:
    """Accepts the request and never answers."""
    await connection.gone()


def huge_body(size: int = 16 * 1024 * 1024) -> Handler:
    """A chunked JSON body of at least that many bytes."""

    async def handler(_: Received, connection: Connection) -> None:
        await connection.begin(content_type="application/json")
        await connection.chunk('{"id": "chatcmpl-1", "choices": [{"message": {"content": "')
        piece = b"a" * 65536
        for _step in range(size // len(piece)):
            await connection.chunk(piece)
        await connection.chunk('"}}]}')
        await connection.end()

    return handler


async def reset_mid_body(_: Received, connection: Connection) -> None:
    """Promises more bytes than it sends, then resets the connection."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n"
    await connection.raw(head.encode() + b'{"id": "chatcmpl-1", "choices": [')
    connection.reset()


async def truncated_stream(_: Received, connection: Connection) -> None:
    """A stream that ends in good order before its finish_reason."""
    delta = {"choices": [{"index": 0, "delta": {"content": "Rain"}, "finish_reason": None}]}
    await connection.begin()
    await connection.event({"id": "chatcmpl-1", "object": "chat.completion.chunk", **delta})
    await connection.end()


def drip(step_s: float) -> Handler:
    """A lawful body sent one byte at a time."""

    async def handler(received: Received, connection: Connection) -> None:
        await connection.begin(content_type="application/json")
        for byte in json.dumps(Lawful().whole(received.json)).encode():
            await connection.chunk(bytes([byte]))
            await asyncio.sleep(step_s)
        await connection.end()

    return handler


async def done_but_open(received: Received, connection: Connection) -> None:
    """A whole stream with [DONE], after which the connection is kept open with comments."""
    await Lawful().events(received.json, connection)
    while True:
        await connection.chunk(": keep-alive\n\n")
        await asyncio.sleep(0.01)


def redirect(location: str, status: int = 307) -> Handler:
    return always(status, "", headers={"Location": location})


async def not_http(_: Received, connection: Connection) -> None:
    await connection.raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    connection.close()


Rule = Callable[[Mapping[str, Any]], tuple[int, Any] | None]


def picky(*rules: Rule) -> Handler:
    """Refuses a request by the first rule it breaks, and is lawful to all others."""
    lawful = Lawful()

    async def handler(received: Received, connection: Connection) -> None:
        for rule in rules:
            refusal = rule(received.json)
            if refusal is not None:
                await connection.reply(refusal[0], refusal[1])
                return
        await lawful(received, connection)

    return handler


def wants_max_completion_tokens(request: Mapping[str, Any]) -> tuple[int, Any] | None:
    if "max_tokens" not in request:
        return None
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    return 400, error(message, code="unsupported_parameter", param="max_tokens")


def wants_16_tokens(request: Mapping[str, Any]) -> tuple[int, Any] | None:
    asked = request.get("max_tokens", request.get("max_completion_tokens", 16))
    if asked >= 16:
        return None
    message = (
        f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {asked} instead."
    )
    return 400, error(message, code="integer_below_min_value", param="max_output_tokens")


def wants_no_temperature(request: Mapping[str, Any]) -> tuple[int, Any] | None:
    if "temperature" not in request:
        return None
    message = (
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
    )
    return 400, error(message, code="unsupported_value", param="temperature")


def wants_5_top_logprobs(request: Mapping[str, Any]) -> tuple[int, Any] | None:
    if request.get("top_logprobs", 0) <= 5:
        return None
    return 400, error("Invalid value for 'top_logprobs': must be less than or equal to 5.", param="top_logprobs")


def wants_no_logprobs(request: Mapping[str, Any]) -> tuple[int, Any] | None:
    if "logprobs" not in request and "top_logprobs" not in request:
        return None
    return 400, error("`logprobs` is not supported with this model")
