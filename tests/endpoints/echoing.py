"""A lawful endpoint that answers plain completions too, with the values of its prompt or without."""

from __future__ import annotations

from typing import Any

from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Handler, Received


def completion(request: dict[str, Any], *, echo: bool) -> dict[str, Any]:
    tokens = [*(["Go", " on"] if echo and request.get("echo") else []), " Rain"]
    values: list[float | None] = [-1.0] * len(tokens)
    values[0] = None if len(tokens) > 1 else -1.0
    logprobs = {"tokens": tokens, "token_logprobs": values, "top_logprobs": [{token: -1.0} for token in tokens]}
    choice = {"index": 0, "text": "".join(tokens), "finish_reason": "length", "logprobs": logprobs}
    return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}


def both(*, echo: bool, top: int = 20) -> Handler:
    chat = Lawful(top_logprobs=top)

    async def handler(received: Received, connection: Connection) -> None:
        if received.path.endswith("/chat/completions"):
            await chat(received, connection)
        else:
            await connection.reply(200, completion(received.json, echo=echo))

    return handler
