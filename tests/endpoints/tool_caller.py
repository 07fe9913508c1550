"""An endpoint that calls tools: what it says is a function of the request, how it says it is the test's choice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.endpoints import hostile
from tests.endpoints.server import Connection, Received

Request = Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """What a model says: calls as name and argument text, or an answer."""

    calls: Sequence[tuple[str, str]] = ()
    content: str | None = None
    reasoning: str | None = None
    finish: str | None = None


Model = Callable[[Request], Said]


def plain_ids(number: int) -> str:
    return f"call_{number:04x}"


@dataclass
class ToolCaller:
    """Says what `model` says, whole or streamed in pieces of `piece` characters.

    `make_id` gives the id of each call in turn. `refuses` says what is wrong with a request's messages, which are then
    turned down with a 400; None where nothing is. `more` goes into each call object.
    """

    model: Model
    make_id: Callable[[int], str] = plain_ids
    refuses: Callable[[Sequence[Mapping[str, Any]]], str | None] = lambda _: None
    more: Mapping[str, Any] = field(default_factory=dict)
    piece: int = 7
    made: int = 0

    async def __call__(self, received: Received, connection: Connection) -> None:
        request = received.json
        fault = self.refuses(request["messages"])
        if fault is not None:
            await connection.reply(400, hostile.error(fault))
            return
        said = self.model(request)
        if request.get("stream"):
            await self._stream(said, connection)
        else:
            await connection.reply(200, self._whole(said))

    def _calls(self, said: Said) -> list[dict[str, Any]]:
        first, self.made = self.made, self.made + len(said.calls)
        return [
            {"id": self.make_id(first + place), "type": "function", "function": {"name": name, "arguments": text}}
            | dict(self.more)
            for place, (name, text) in enumerate(said.calls)
        ]

    def _whole(self, said: Said) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": said.content}
        if said.reasoning is not None:
            message["reasoning_content"] = said.reasoning
        if said.calls:
            message["tool_calls"] = self._calls(said)
        choice = {"index": 0, "message": message, "finish_reason": _finish(said)}
        return {**_envelope("chat.completion"), "choices": [choice]}

    async def _stream(self, said: Said, connection: Connection) -> None:
        await connection.begin()
        for delta in self._deltas(said):
            await connection.event(_chunk(delta))
        await connection.event(_chunk({}, _finish(said)))
        await connection.event("[DONE]")
        await connection.end()

    def _deltas(self, said: Said) -> Iterator[dict[str, Any]]:
        yield {"role": "assistant", "content": ""}
        if said.reasoning is not None:
            yield {"reasoning_content": said.reasoning}
        for text in _pieces(said.content or "", self.piece):
            yield {"content": text}
        for index, call in enumerate(self._calls(said)):
            text = call["function"]["arguments"]
            yield {"tool_calls": [{**call, "index": index, "function": {**call["function"], "arguments": ""}}]}
            for piece in _pieces(text, self.piece):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def call(name: str, **arguments: Any) -> tuple[str, str]:
    return name, json.dumps(arguments)


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _finish(said: Said) -> str:
    return said.finish or ("tool_calls" if said.calls else "stop")


def _chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {**_envelope("chat.completion.chunk"), "choices": [choice]}


def _envelope(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-7f01", "object": kind, "created": 1760000000, "model": "acme/lark-30b"}
