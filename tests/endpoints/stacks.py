"""Serving stacks that all keep the contract and differ in their habits of writing, down to the bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.endpoints.server import Connection, Received

Json = dict[str, Any]
Habit = Callable[[Json], Json]


def hexadecimal(rng: random.Random, size: int = 32) -> str:
    return f"{rng.getrandbits(4 * size):0{size}x}"


@dataclass(frozen=True)
class Stack:
    """`edit_*` change an object before it is written; the other fields are habits of the framing."""

    answer_id: Callable[[random.Random], str] = lambda rng: f"chatcmpl-{hexadecimal(rng)}"
    call_id: Callable[[random.Random], str] = lambda rng: f"chatcmpl-tool-{hexadecimal(rng)}"
    created: Any = 1760000000
    model: str | None = None
    fingerprint: str | None = None
    edit_chunk: Habit = lambda chunk: chunk
    edit_choice: Habit = lambda choice: choice
    edit_call: Habit = lambda entry: entry
    edit_logprobs: Habit = lambda entry: entry
    content_when_calling: Any = None
    role_alone: bool = True
    name_each_time: bool = False
    usage_apart: bool = True
    done: bool = True
    line_end: str = "\n"
    prefix: str = "data: "
    separators: tuple[str, str] = (",", ":")
    comment: str | None = None
    reasoning_field: str = "reasoning_content"
    arguments: Callable[[str], Any] = str
    headers: Mapping[str, str] = field(default_factory=lambda: {"server": "uvicorn"})
    error: Habit = lambda error: {"error": error}

    def text(self, value: Any) -> str:
        return json.dumps(value, separators=self.separators)

    def stream(self, request: Mapping[str, Any], said: Said) -> str:
        rng = random.Random(said.seed)
        envelope = self._envelope(request, rng, "chat.completion.chunk")
        chunks = [{**envelope, "choices": [self._choice(delta, None)]} for delta in self._deltas(said, rng)]
        last = {**envelope, "choices": [self._choice({}, said.finish)]}
        usage = {"prompt_tokens": 9, "completion_tokens": said.tokens, "total_tokens": 9 + said.tokens}
        if request.get("stream_options"):
            last = last if self.usage_apart else {**last, "usage": usage}
        chunks.append(last)
        if request.get("stream_options") and self.usage_apart:
            chunks.append({**envelope, "choices": [], "usage": usage})
        events = [f"{self.prefix}{self.text(self.edit_chunk(chunk))}" for chunk in chunks]
        events += [f"{self.prefix}[DONE]"] if self.done else []
        head = f": {self.comment}{self.line_end * 2}" if self.comment else ""
        return head + "".join(f"{event}{self.line_end * 2}" for event in events)

    def whole(self, request: Mapping[str, Any], said: Said) -> str:
        rng = random.Random(said.seed)
        message: Json = {"role": "assistant", "content": "".join(said.words)}
        if said.reasoning:
            message[self.reasoning_field] = said.reasoning
        choice: Json = {"index": 0, "message": message, "finish_reason": said.finish}
        if request.get("logprobs"):
            choice["logprobs"] = {"content": [self.edit_logprobs(_position(word)) for word in said.words]}
        body = {**self._envelope(request, rng, "chat.completion"), "choices": [self.edit_choice(choice)]}
        body["usage"] = {"prompt_tokens": 9, "completion_tokens": said.tokens, "total_tokens": 9 + said.tokens}
        return self.text(self.edit_chunk(body))

    def _envelope(self, request: Mapping[str, Any], rng: random.Random, kind: str) -> Json:
        found: Json = {"id": self.answer_id(rng), "object": kind, "created": self.created}
        found["model"] = self.model or request["model"]
        return found if self.fingerprint is None else {**found, "system_fingerprint": self.fingerprint}

    def _choice(self, delta: Json, finish: str | None) -> Json:
        return self.edit_choice({"index": 0, "delta": delta, "finish_reason": finish})

    def _deltas(self, said: Said, rng: random.Random) -> list[Json]:
        deltas: list[Json] = [{self.reasoning_field: piece} for piece in said.reasoning.split()]
        deltas += [{"content": word} for word in said.words]
        for index, (name, arguments) in enumerate(said.calls):
            deltas += self._call(index, name, arguments, rng)
        role: Json = {"role": "assistant"}
        if said.calls and self.content_when_calling != "absent":
            role["content"] = self.content_when_calling
        elif not said.calls:
            role["content"] = ""
        return [role, *deltas] if self.role_alone else [{**role, **deltas[0]}, *deltas[1:]]

    def _call(self, index: int, name: str, arguments: str, rng: random.Random) -> list[Json]:
        first: Json = {"index": index, "id": self.call_id(rng), "type": "function"}
        named = {"name": name} if self.name_each_time else {}
        entries = [
            {**first, "function": {"name": name, "arguments": ""}},
            {"index": index, "function": {**named, "arguments": self.arguments(arguments)}},
        ]
        return [{"tool_calls": [self.edit_call(entry)]} for entry in entries]


@dataclass(frozen=True)
class Said:
    """What a model says, and the seed of the ids that the answer is given."""

    words: Sequence[str] = ("Rain", " fell", " on", " the", " old", " bridge", " and", " stopped", ".")
    calls: Sequence[tuple[str, str]] = ()
    reasoning: str = ""
    finish: str = "stop"
    seed: int = 0

    @property
    def tokens(self) -> int:
        return len(self.words) + len(self.reasoning.split()) + 5 * len(self.calls)


CALLING = Said(words=(), calls=(("stock", '{"item":"radishes"}'),), finish="tool_calls")


class Fleet:
    """An endpoint that sends each request to one of several stacks."""

    def __init__(self, *stacks: Stack, said: Said | None = None, seed: int = 3) -> None:
        self._stacks = stacks
        self._said = said or Said()
        self._rng = random.Random(seed)

    async def __call__(self, received: Received, connection: Connection) -> None:
        stack = self._rng.choice(self._stacks)
        said = Said(
            self._said.words, self._said.calls, self._said.reasoning, self._said.finish, self._rng.getrandbits(32)
        )
        stream = received.json.get("stream")
        body = stack.stream(received.json, said) if stream else stack.whole(received.json, said)
        kind = "text/event-stream" if stream else "application/json"
        await connection.reply(200, body, content_type=kind, headers=stack.headers)


def _position(word: str) -> Json:
    def entry(token: str, value: float) -> Json:
        return {"token": token, "logprob": value, "bytes": list(token.encode())}

    top = [entry(word, -0.5), entry(" other", -1.5), entry(" third", -2.5)]
    return {**top[0], "top_logprobs": top}
