"""An endpoint that keeps the contract: chat completions with log-probabilities and usage, whole or streamed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tests.endpoints.server import Connection, Received

WORDS = ("Rain", " fell", " on", " the", " old", " bridge", ".", " Then", " it", " stopped")


class Lawful:
    """Answers every request with the first words of WORDS, `max_tokens` of them (at most all)."""

    def __init__(self, *, top_logprobs: int = 20, model: str = "acme/lark-30b") -> None:
        self.top_logprobs = top_logprobs
        self.model = model

    async def __call__(self, received: Received, connection: Connection) -> None:
        if received.path.endswith("/models"):
            await connection.reply(200, {"object": "list", "data": [{"id": self.model, "object": "model"}]})
        elif received.json.get("stream"):
            await self.stream(received.json, connection)
        else:
            await connection.reply(200, self.whole(received.json))

    def whole(self, request: Mapping[str, Any]) -> dict[str, Any]:
        words = self._words(request)
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": "".join(words)},
            "finish_reason": "length",
        }
        if request.get("logprobs"):
            count = min(request.get("top_logprobs", 0), self.top_logprobs)
            choice["logprobs"] = {"content": [_position(word, count) for word in words]}
        return {**self._envelope("chat.completion"), "choices": [choice], "usage": _usage(request, len(words))}

    async def stream(self, request: Mapping[str, Any], connection: Connection) -> None:
        await self.events(request, connection)
        await connection.end()

    async def events(self, request: Mapping[str, Any], connection: Connection) -> None:
        """The stream up to [DONE], without the end of the body."""
        envelope = self._envelope("chat.completion.chunk")
        words = self._words(request)

        def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
            return {**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        await connection.begin()
        await connection.event(chunk({"role": "assistant", "content": ""}))
        for word in words:
            await connection.event(chunk({"content": word}))
        await connection.event(chunk({}, "length"))
        if request.get("stream_options", {}).get("include_usage"):
            await connection.event({**envelope, "choices": [], "usage": _usage(request, len(words))})
        await connection.event("[DONE]")

    def _words(self, request: Mapping[str, Any]) -> tuple[str, ...]:
        limit = request.get("max_tokens") or request.get("max_completion_tokens") or len(WORDS)
        return WORDS[:limit]

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-7f01", "object": kind, "created": 1760000000, "model": self.model}


def _position(word: str, count: int) -> dict[str, Any]:
    """Alternative i has probability 2^−(i+1); the sampled word is the first."""
    names = [word, *(f" other{index}" for index in range(1, count))][: max(count, 1)]
    entries = [
        {"token": name, "logprob": -(index + 1) * math.log(2), "bytes": list(name.encode())}
        for index, name in enumerate(names)
    ]
    return {**entries[0], "top_logprobs": entries[:count]}


def _usage(request: Mapping[str, Any], completion: int) -> dict[str, int]:
    prompt = sum(len(str(message.get("content")).split()) for message in request.get("messages", []))
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
