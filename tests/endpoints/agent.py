"""An endpoint that answers any chat request rightly, by a function from the request to the answer."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.endpoints.answers import Answer, Json, Refusal, invalid_parameter, within
from tests.endpoints.server import Connection, Received
from tests.endpoints.wire import DONE, Script, Wire, event, written

# The dice are for what a sampling model leaves to chance.
AnswerFor = Callable[[Mapping[str, Any], random.Random], Answer | Refusal]

# So little mass holds the likeliest token alone.
_NEEDLE = 0.01


def words_in(request: Mapping[str, Any]) -> int:
    """The length of a prompt to this model: messages and tools, word by word."""
    return len(json.dumps([request["messages"], request.get("tools")], ensure_ascii=False).split())


@dataclass
class Agent:
    """Keeps to all that the request says of tools, limits, stops, choices, seeds and log-probabilities, and turns down
    values that mean nothing. Temperature 0, a needle of top_p, top_k 1 and a seed make it say the same again."""

    answer_for: AnswerFor
    wire: Wire = field(default_factory=Wire)
    count: Callable[[Mapping[str, Any]], int] = words_in
    rng: random.Random = field(default_factory=lambda: random.Random(5))
    answered: int = 0

    async def __call__(self, received: Received, connection: Connection) -> None:
        if received.path.endswith("/models"):
            await connection.reply(200, {"object": "list", "data": [{"id": "acme/lark-30b", "object": "model"}]})
            return
        request = self.wire.hears(received.json)
        self.answered += 1
        said = self.said(request)
        if isinstance(said, Refusal):
            await _refuse(said, connection)
        elif request.get("stream") if self.wire.streams is None else self.wire.streams:
            await self._stream(self.wire.chunks(said.chunks()), connection)
        else:
            await self._reply(self.wire.body(said.body()), connection)

    def said(self, request: Json) -> Script | Refusal:
        """What it says, before it is written."""
        invalid = invalid_parameter(request)
        if invalid is not None:
            return Refusal.of(invalid)
        answers: list[Answer] = []
        for choice in range(request.get("n") or 1):
            answer = self.answer_for(request, self._dice(request, choice))
            if isinstance(answer, Answer):
                answer = self.wire.says(within(request, answer))
            if isinstance(answer, Refusal):
                return answer
            answers.append(answer)
        return Script(request, answers, self.answered, self.count(request))

    def _dice(self, request: Mapping[str, Any], choice: int) -> random.Random:
        prompt, seed = json.dumps(request["messages"]), request.get("seed")
        if request.get("temperature") == 0 or request.get("top_p", 1) < _NEEDLE or request.get("top_k") == 1:
            return random.Random(prompt)
        return random.Random(self.rng.random() if seed is None else f"{seed} {choice} {prompt}")

    async def _reply(self, body: Json, connection: Connection) -> None:
        blocks = self.wire.blocks([written(body)])
        if len(blocks) == 1:
            await connection.reply(200, blocks[0], headers=self.wire.headers)
        else:
            await self._send(blocks, connection, "application/json")

    async def _stream(self, chunks: list[Json], connection: Connection) -> None:
        await self._send(self.wire.blocks([*map(event, chunks), DONE]), connection, "text/event-stream")

    async def _send(self, blocks: list[bytes], connection: Connection, content_type: str) -> None:
        await connection.begin(content_type=content_type, headers=self.wire.headers)
        for block in blocks:
            await connection.chunk(block)
        if self.wire.ends == "reset":
            connection.reset()
        else:
            await connection.end()


async def _refuse(refusal: Refusal, connection: Connection) -> None:
    await connection.reply(refusal.status, refusal.body, content_type=refusal.content_type, headers=refusal.headers)
