"""What an endpoint says to a chat request, before it is written: an answer within its limits, or a refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.endpoints import hostile

Json = dict[str, Any]

_TOKEN = re.compile(r"\s*\S+|\s+")


def tokens_of(text: str) -> list[str]:
    """A word with the space before it is a token."""
    return _TOKEN.findall(text)


@dataclass(frozen=True)
class Call:
    """`arguments` are JSON text in a right answer. An `id` of its own replaces the one that the endpoint would give."""

    name: str
    arguments: Any = "{}"
    id: str | None = None

    @property
    def pieces(self) -> list[Any]:
        return tokens_of(self.arguments) if isinstance(self.arguments, str) else [self.arguments]

    @property
    def tokens(self) -> int:
        text = self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)
        return 1 + len(tokens_of(text))


@dataclass(frozen=True)
class Answer:
    """`finish` is the reason it ends for, where that does not follow from the rest."""

    content: str | None = None
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None

    @property
    def tokens(self) -> int:
        said = tokens_of(self.reasoning) + tokens_of(self.content or "")
        return len(said) + sum(call.tokens for call in self.calls)

    @property
    def reason(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")


@dataclass(frozen=True)
class Refusal:
    """Any body but an answer, under whatever status."""

    status: int
    body: Json | str
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"

    @classmethod
    def of(cls, parameter: str, status: int = 400) -> Refusal:
        """Turns down the value of a parameter, by its name."""
        return cls(status, hostile.error(f"Invalid value for '{parameter}'.", param=parameter))


def within(request: Mapping[str, Any], answer: Answer) -> Answer:
    """The answer as far as the request lets it go."""
    answer = replace(answer, calls=_allowed(request, answer.calls))
    answer = _stopped(request.get("stop") or [], answer)
    limit = request.get("max_completion_tokens") or request.get("max_tokens")
    return answer if limit is None or answer.tokens <= limit else _cut(answer, limit)


def _allowed(request: Mapping[str, Any], calls: tuple[Call, ...]) -> tuple[Call, ...]:
    choice = request.get("tool_choice", "auto")
    names = set() if choice == "none" else _declared(request)
    if isinstance(choice, dict):
        names &= {choice["function"]["name"]}
    calls = tuple(call for call in calls if call.name in names)
    return calls[:1] if request.get("parallel_tool_calls") is False else calls


def _declared(request: Mapping[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in request.get("tools") or ()}


def _stopped(stops: str | list[str], answer: Answer) -> Answer:
    content = answer.content or ""
    ends = [content.index(stop) for stop in ([stops] if isinstance(stops, str) else stops) if stop in content]
    return replace(answer, content=content[: min(ends)], calls=()) if ends else answer


def _cut(answer: Answer, limit: int) -> Answer:
    room = limit

    def taken(text: str) -> str:
        nonlocal room
        kept = tokens_of(text)[:room]
        room -= len(kept)
        return "".join(kept)

    reasoning, content = taken(answer.reasoning), answer.content and taken(answer.content)
    calls = []
    for call in answer.calls:
        if room > 0:
            room -= 1
            calls.append(replace(call, arguments=taken(call.arguments)))
    return Answer(content, reasoning, tuple(calls), "length")


_NUMBERS: Mapping[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
    "n": (1, 8),
    "max_tokens": (1, 1e6),
    "max_completion_tokens": (1, 1e6),
    "top_logprobs": (0, 20),
    "seed": (-(2**63), 2**63),
}
_WHOLE = frozenset({"n", "max_tokens", "max_completion_tokens", "top_logprobs", "seed"})


def invalid_parameter(request: Mapping[str, Any]) -> str | None:
    """The first parameter whose value means nothing."""
    for name, (least, most) in _NUMBERS.items():
        value = request.get(name)
        number = isinstance(value, int if name in _WHOLE else int | float) and not isinstance(value, bool)
        if value is not None and not (number and least <= value <= most):
            return name
    return "tool_choice" if _is_no_choice(request) else None


def _is_no_choice(request: Mapping[str, Any]) -> bool:
    choice = request.get("tool_choice", "auto")
    names = _declared(request)
    if isinstance(choice, dict):
        named = choice.get("function")
        return not isinstance(named, dict) or named.get("name") not in names
    return choice not in ("none", "auto", "required") or (choice == "required" and not names)
