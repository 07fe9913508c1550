"""An endpoint that honours every parameter of a chat request, but those that a test tells it to ignore or to refuse.

Its model says random words, or one word when told to, and calls the tool that a question asks it to use.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from probes.vocabulary import WORDS
from tests.endpoints import hostile
from tests.endpoints.server import Connection, Received

_SAID = sorted({*WORDS["thing"], *WORDS["animal"], *WORDS["goods"], *WORDS["adjective"], *WORDS["verb"]})
_LENGTH = 60
_END = ""
_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "temperature": (int, float),
    "top_p": (int, float),
    "top_k": int,
    "seed": int,
    "n": int,
    "max_tokens": int,
    "max_completion_tokens": int,
    "stop": (str, list),
    "logit_bias": dict,
}
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "top_p": (0, 1),
    "n": (1, 8),
    "max_tokens": (1, 1e6),
    "max_completion_tokens": (1, 1e6),
}


class Vocabulary:
    """One token for each word it says, with the space before it, and one without; the text of ids alone."""

    def __init__(self) -> None:
        spellings = [word for plain in _SAID for word in (f" {plain}", plain)]
        self.words = [*spellings, *(word.title() for word in spellings)]
        self._ids = {word: number for number, word in enumerate(self.words)}

    def tokenize(self, text: str, *, parse_special: bool = True) -> list[int]:
        return [self._ids[text]] if text in self._ids else []

    def token_bytes(self, token_id: int) -> bytes:
        return self.words[token_id].encode()


# It renders nothing, and so is no whole tokenizer.
VOCABULARY: Any = Vocabulary()


@dataclass
class Parametric:
    """`ignores` and `refuses` name parameters; a value that means nothing is ignored where `lax` has its parameter.

    `greedy_noise` is the share of answers at temperature 0 that come out otherwise, as batching makes them. `status`
    and `says` are those of a refusal. `half` honours what it `ignores` every second time, as two variants behind one
    address do. `caches` gives the stored answer to a body that comes again. `shift` moves the ids of its
    vocabulary, and `hottest` is the highest temperature it takes.
    """

    ignores: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    lax: frozenset[str] = frozenset()
    greedy_noise: float = 0.0
    default_temperature: float = 1.0
    status: int = 400
    says: str = "Unsupported parameter: '{name}' is not supported with this model."
    half: bool = False
    caches: bool = False
    shift: int = 0
    hottest: float = 2.0
    rng: random.Random = field(default_factory=lambda: random.Random(5))
    answered: int = 0
    _cache: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def __call__(self, received: Received, connection: Connection) -> None:
        request = received.json
        for name in request:
            if name in self.refuses or (name not in self.lax and self._is_invalid(name, request)):
                says = self.says if name in self.refuses else "Invalid value for '{name}'."
                await connection.reply(self.status, hostile.error(says.format(name=name)))
                return
        await connection.reply(200, self._cached(request) if self.caches else self.answer(request))

    def _cached(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self._cache.setdefault(json.dumps(request), self.answer(request))

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.answered += 1
        heeds = self.half and self.answered % 2 == 0
        known = {
            name: value
            for name, value in request.items()
            if heeds or (name not in self.ignores and not self._is_invalid(name, request))
        }
        choices = [self._choice(known, index) for index in range(known.get("n", 1))]
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        return {
            "id": f"chatcmpl-{self.answered}",
            "object": "chat.completion",
            "created": 1760000000,
            "model": request["model"],
            "choices": choices,
            "usage": usage,
        }

    def _is_invalid(self, name: str, request: Mapping[str, Any]) -> bool:
        if _is_invalid(name, request):
            return True
        return name == "temperature" and not 0 <= request[name] <= self.hottest

    def _choice(self, request: Mapping[str, Any], index: int) -> dict[str, Any]:
        text = str(request["messages"][-1]["content"])
        called = _called(request, text)
        if called is not None:
            arguments = {"function": {"name": called, "arguments": '{"item": "radishes"}'}}
            call = {"id": f"call_{self.rng.getrandbits(64):016x}", "type": "function", **arguments}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            return {"index": index, "message": message, "finish_reason": "tool_calls"}
        content, finish = self._said(request, text)
        return {"index": index, "message": {"role": "assistant", "content": content}, "finish_reason": finish}

    def _said(self, request: Mapping[str, Any], text: str) -> tuple[str, str]:
        limit = request.get("max_tokens") or request.get("max_completion_tokens") or _LENGTH
        stops = request.get("stop") or []
        stops = [stops] if isinstance(stops, str) else stops
        if form := request.get("response_format"):
            return _formed(form), "stop"
        content = ""
        for count, word in enumerate(self._words(request, text)):
            if word == _END:
                return content.strip(), "stop"
            if count == limit:
                return content.strip(), "length"
            content += word
            for stop in stops:
                if stop in content:
                    return content.partition(stop)[0].strip(), "stop"
        return content.strip(), "stop"

    def _words(self, request: Mapping[str, Any], text: str) -> Iterator[str]:
        bias = {
            VOCABULARY.words[(int(one) + self.shift) % len(VOCABULARY.words)]: value
            for one, value in (request.get("logit_bias") or {}).items()
        }
        for word in self._unbiased(request, text):
            forced = [other for other, value in bias.items() if value >= 100]
            banned = bias.get(word, bias.get(word.strip(), 0)) <= -100
            yield forced[0] if forced else " something" if banned else word

    def _unbiased(self, request: Mapping[str, Any], text: str) -> Iterator[str]:
        if "this one word alone" in text:
            yield f" {text.rpartition(': ')[2]}"
        else:
            rng = self._dice(request, text)
            yield from (f" {rng.choice(_SAID)}" for _ in range(_LENGTH))
        yield _END

    def _dice(self, request: Mapping[str, Any], text: str) -> random.Random:
        temperature = request.get("temperature", self.default_temperature)
        narrow = temperature == 0 or request.get("top_p", 1) < 0.01 or request.get("top_k") == 1
        if narrow and self.rng.random() >= self.greedy_noise:
            return random.Random(text)
        seed = request.get("seed")
        return random.Random(f"{seed} {text}") if seed is not None else random.Random(self.rng.random())


def _called(request: Mapping[str, Any], text: str) -> str | None:
    names = [tool["function"]["name"] for tool in request.get("tools", [])]
    choice = request.get("tool_choice", "auto")
    if not names or choice == "none":
        return None
    if isinstance(choice, dict):
        return str(choice["function"]["name"])
    return names[0] if choice == "required" or "Look it up" in text else None


def _formed(form: Mapping[str, Any]) -> str:
    if form["type"] == "json_object":
        return '{"said": "a lantern"}'
    properties = form["json_schema"]["schema"]["properties"]
    return json.dumps({name: one["enum"][0] if "enum" in one else 4 for name, one in properties.items()})


def _is_invalid(name: str, request: Mapping[str, Any]) -> bool:
    value = request[name]
    if name == "response_format":
        return not isinstance(value, dict) or value.get("type") not in ("text", "json_object", "json_schema")
    if name == "tool_choice":
        named = isinstance(value, dict) and value.get("type") == "function"
        return not named and value not in ("none", "auto", "required")
    if name == "logit_bias" and isinstance(value, dict):
        return not all(one.isdecimal() and isinstance(bias, int) for one, bias in value.items())
    if name not in _KINDS:
        return False
    low, high = _BOUNDS.get(name, (float("-inf"), float("inf")))
    return not isinstance(value, _KINDS[name]) or (isinstance(value, int | float) and not low <= value <= high)
