"""Writes answers as JSON or as an event stream, as described: faults and habits change one place each."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.endpoints.answers import Answer, Json, Refusal, tokens_of

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Wire:
    """Each field changes one level: the request as the model hears it, what it says, the body of a plain answer, the
    chunks of a stream, and the bytes, each of whose blocks is written by itself (an event of a stream, all of a body).

    `streams` answers in that form whatever was asked. `ends` is how the connection ends after the last block.
    """

    hears: Callable[[Json], Json] = lambda request: request
    says: Callable[[Answer], Answer | Refusal] = lambda answer: answer
    body: Callable[[Json], Json] = lambda body: body
    chunks: Callable[[list[Json]], list[Json]] = lambda chunks: chunks
    blocks: Callable[[list[bytes]], list[bytes]] = lambda blocks: blocks
    headers: Mapping[str, str] = field(default_factory=dict)
    streams: bool | None = None
    ends: Literal["whole", "reset"] = "whole"


@dataclass(frozen=True)
class Script:
    """One exchange: what was asked, the choices that answer it, and the endpoint's count of its answers so far."""

    request: Mapping[str, Any]
    answers: Sequence[Answer]
    number: int
    prompt_tokens: int

    def body(self) -> Json:
        choices = [self._whole(index, answer) for index, answer in enumerate(self.answers)]
        return {**self._envelope("chat.completion"), "choices": choices, "usage": self._usage()}

    def chunks(self) -> list[Json]:
        envelope = self._envelope("chat.completion.chunk")
        parts = [part for index, answer in enumerate(self.answers) for part in self._parts(index, answer)]
        found: list[Json] = [{**envelope, "choices": [part]} for part in parts]
        if (self.request.get("stream_options") or {}).get("include_usage"):
            found.append({**envelope, "choices": [], "usage": self._usage()})
        return found

    def _envelope(self, kind: str) -> Json:
        return {
            "id": f"chatcmpl-{self.number:032x}",
            "object": kind,
            "created": 1760000000 + self.number,
            "model": self.request["model"],
        }

    def _whole(self, index: int, answer: Answer) -> Json:
        message: Json = {"role": "assistant", "content": answer.content}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = [
                {**self._named(answer, place), "function": {"name": call.name, "arguments": call.arguments}}
                for place, call in enumerate(answer.calls)
            ]
        return self._choice(index, "message", message, answer.reason, tokens_of(answer.content or ""))

    def _parts(self, index: int, answer: Answer) -> Iterator[Json]:
        def part(delta: Json, finish: str | None = None, tokens: Sequence[str] = ()) -> Json:
            return self._choice(index, "delta", delta, finish, tokens)

        yield part({"role": "assistant", "content": None if answer.content is None else ""})
        for token in tokens_of(answer.reasoning):
            yield part({"reasoning_content": token})
        for token in tokens_of(answer.content or ""):
            yield part({"content": token}, tokens=[token])
        for place, call in enumerate(answer.calls):
            head = {"index": place, **self._named(answer, place), "function": {"name": call.name, "arguments": ""}}
            yield part({"tool_calls": [head]})
            for piece in call.pieces:
                yield part({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
        yield part({}, answer.reason)

    def _named(self, answer: Answer, place: int) -> Json:
        given = answer.calls[place].id
        return {"id": f"call_{self.number:012x}{place:012x}" if given is None else given, "type": "function"}

    def _choice(self, index: int, name: str, said: Json, finish: str | None, tokens: Sequence[str]) -> Json:
        choice = {"index": index, name: said, "logprobs": None, "finish_reason": finish}
        if self.request.get("logprobs") and tokens:
            top = self.request.get("top_logprobs") or 0
            choice["logprobs"] = {"content": [_position(token, top) for token in tokens]}
        return choice

    def _usage(self) -> Json:
        made = sum(answer.tokens for answer in self.answers)
        usage: Json = {"prompt_tokens": self.prompt_tokens, "completion_tokens": made}
        usage["total_tokens"] = self.prompt_tokens + made
        thought = sum(len(tokens_of(answer.reasoning)) for answer in self.answers)
        return {**usage, "completion_tokens_details": {"reasoning_tokens": thought}} if thought else usage


def written(value: Json) -> bytes:
    return json.dumps(value).encode()


def event(value: Json) -> bytes:
    return b"data: " + written(value) + b"\n\n"


def _position(token: str, top: int) -> Json:
    """Alternative i has probability 2^−(i+1); the sampled token is the first."""
    names = [token, *(f"{token}{place}" for place in range(1, top))]
    entries = [
        {"token": name, "logprob": -(place + 1) * math.log(2), "bytes": list(name.encode())}
        for place, name in enumerate(names)
    ]
    return {**entries[0], "top_logprobs": entries[:top]}
