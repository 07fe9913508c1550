"""An endpoint whose model is arithmetic: a prompt has the same log-probabilities every time, until a test changes the
model behind its back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.endpoints import hostile
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Received

# What may differ from answer to answer while nothing changes, in nats: so little that no chance makes it a finding.
NOISE = 0.01

_TOKENS = tuple(f" word{index}" for index in range(64))

Messages = Sequence[Mapping[str, Any]]


def words_in(messages: Messages) -> int:
    return sum(len(str(message["content"]).split()) for message in messages)


@dataclass
class ScriptedModel:
    """Answers chat requests with the first token alone; streams and the list of models are those of `Lawful`.

    A test may change any field between two runs. `change` and `noise` are standard deviations in nats: of what another
    stack adds to each log-probability, always the same for a prompt, and of what differs from answer to answer.
    `most_alternatives`: a request for more top_logprobs is refused, as real endpoints do. `logprobs` False leaves them
    out of the answer. `count` is how it counts a conversation's tokens, `extra_prompt_tokens` what it adds to that.
    `caches` answers a repeated request with the stored answer, id included. `fingerprint` is what it calls its stack.
    Ids and noise go by `answered`.
    """

    change: float = 0.0
    noise: float = 0.0
    logprobs: bool = True
    most_alternatives: int = 20
    count: Callable[[Messages], int] = words_in
    extra_prompt_tokens: int = 0
    caches: bool = False
    fingerprint: str | None = None
    answered: int = 0
    _lawful: Lawful = field(default_factory=Lawful)
    _cache: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def __call__(self, received: Received, connection: Connection) -> None:
        request = received.json if received.body else {}
        if received.path.endswith("/models") or request.get("stream"):
            await self._lawful(received, connection)
        elif request.get("top_logprobs", 0) > self.most_alternatives:
            limit = f"Invalid value for 'top_logprobs': must be less than or equal to {self.most_alternatives}."
            await connection.reply(400, hostile.error(limit, param="top_logprobs"))
        else:
            await connection.reply(200, self._cached(request) if self.caches else self._answer(request))

    def _cached(self, request: Mapping[str, Any]) -> dict[str, Any]:
        key = json.dumps(request, sort_keys=True)
        if key not in self._cache:
            self._cache[key] = self._answer(request)
        return self._cache[key]

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.answered += 1
        prompt_tokens = self.count(request["messages"]) + self.extra_prompt_tokens
        ranked = self._ranked(json.dumps(request["messages"]))
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": ranked[0]["token"]},
            "finish_reason": "length",
        }
        if self.logprobs and request.get("logprobs"):
            choice["logprobs"] = {"content": [{**ranked[0], "top_logprobs": ranked[: request["top_logprobs"]]}]}
        return {
            "id": f"chatcmpl-{self.answered}",
            "object": "chat.completion",
            "created": 1760000000,
            "model": self._lawful.model,
            **({} if self.fingerprint is None else {"system_fingerprint": self.fingerprint}),
            "choices": [choice],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": 1,
                "total_tokens": prompt_tokens + 1,
            },
        }

    def _ranked(self, prompt: str) -> list[dict[str, Any]]:
        logits = 3.0 * _normal(prompt) + self.change * _normal(f"change {prompt}")
        logits += self.noise * _normal(f"answer {self.answered}")
        logprobs = logits - np.logaddexp.reduce(logits)
        order = np.argsort(-logprobs, kind="stable")
        return [{"token": _TOKENS[i], "logprob": float(logprobs[i]), "bytes": list(_TOKENS[i].encode())} for i in order]


@dataclass
class DrawingModel(ScriptedModel):
    """Draws the first token at the temperature asked for, times `temperature`, and says what it was before that."""

    temperature: float = 1.0
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        answer = super()._answer(request)
        ranked = self._ranked(json.dumps(request["messages"]))
        logits = np.array([one["logprob"] for one in ranked]) / max(1e-3, self.temperature * request["temperature"])
        chances = np.exp(logits - np.logaddexp.reduce(logits))
        drawn = ranked[int(self.rng.choice(len(ranked), p=chances / chances.sum()))]
        (choice,) = answer["choices"]
        choice["message"]["content"] = drawn["token"]
        choice["logprobs"]["content"][0] |= drawn
        return answer


def _normal(text: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(len(_TOKENS))
