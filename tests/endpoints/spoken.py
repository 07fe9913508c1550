"""A `Parametric` endpoint that counts tokens as it is told to, streams, and answers plain completions: the whole of
what the protocol probe asks for, with a switch for each thing that may change behind its back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.endpoints import hostile
from tests.endpoints.parametric import Parametric
from tests.endpoints.server import Connection, Received

Json = dict[str, Any]


def characters(request: Mapping[str, Any]) -> int:
    return len(str([request.get("messages"), request.get("tools")]))


@dataclass
class Spoken:
    """`edit` changes an answer before it is written. `count` counts prompts, `extra_tokens` goes on top."""

    model: Parametric = field(default_factory=Parametric)
    count: Callable[[Mapping[str, Any]], int] = characters
    extra_tokens: int = 0
    extra_completion: int = 0
    fingerprint: str = "fp_one"
    id_prefix: str = "chatcmpl-"
    call_prefix: str = "call_"

    async def __call__(self, received: Received, connection: Connection) -> None:
        request = received.json
        if "messages" not in request:
            await connection.reply(404, hostile.error("There is no such path."))
        elif request.get("stream"):
            await self._stream(request, connection)
        else:
            await self.model(received, _Edited(connection, lambda body: self._edited(request, body)))  # type: ignore[arg-type]

    async def _stream(self, request: Mapping[str, Any], connection: Connection) -> None:
        whole = self._edited(request, self.model.answer(request))
        head = {
            **{key: whole[key] for key in ("id", "created", "model", "system_fingerprint")},
            "object": "chat.completion.chunk",
        }
        await connection.begin()
        message = whole["choices"][0]["message"]
        words = (message["content"] or "").split(" ")
        deltas: list[Json] = [{"role": "assistant", "content": ""}, *({"content": f"{word} "} for word in words)]
        if calls := message.get("tool_calls"):
            deltas = [{**message, "tool_calls": [{"index": place, **call} for place, call in enumerate(calls)]}]
        for delta in deltas:
            await connection.event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        finish = whole["choices"][0]["finish_reason"]
        await connection.event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        await connection.event({**head, "choices": [], "usage": whole["usage"]})
        await connection.event("[DONE]")
        await connection.end()

    def _edited(self, request: Mapping[str, Any], body: Json) -> Json:
        if "choices" not in body:
            return body
        prompt = self.count(request) + self.extra_tokens
        completion = 1 + self.extra_completion
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        named = {**body, "id": f"{self.id_prefix}{self.model.rng.getrandbits(96):024x}", "usage": usage}
        for call in (one for choice in named["choices"] for one in choice["message"].get("tool_calls", [])):
            call["id"] = f"{self.call_prefix}{self.model.rng.getrandbits(96):024x}"
        if request.get("logprobs"):
            top = [{"token": f" {one}", "logprob": -1.0 - one, "bytes": None} for one in range(request["top_logprobs"])]
            for choice in named["choices"]:
                choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
        return {**named, "system_fingerprint": self.fingerprint}


class _Edited:
    """A connection whose replies are edited on their way."""

    def __init__(self, connection: Connection, edit: Callable[[Json], Json]) -> None:
        self._connection = connection
        self._edit = edit

    async def reply(self, status: int, body: Json) -> None:
        await self._connection.reply(status, self._edit(body))
