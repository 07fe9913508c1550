"""What a family makes: a request, what is right, and an answer that is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from probes.grammar import Draw
from probes.tools.case import ExpectedCall, Leaf, Oracle, Trigger

JsonObject = Mapping[str, Any]

# A cap that is met by runaways only: a thinking model needs most of it before it calls.
ROOM = 2048

# Where calling is the question, both sides must draw from the same distribution, whatever their defaults are.
SAMPLED: JsonObject = {"temperature": 1, "top_p": 1, "max_tokens": ROOM}
# Where the stack is the question. Repeats still tell something: they meet different machines and loads.
GREEDY: JsonObject = {"temperature": 0, "max_tokens": ROOM}
# Where a refusal may be right. Such bodies go out as they stand, and nothing else in them may be what is refused.
BARE: JsonObject = {}


@dataclass(frozen=True, slots=True)
class RightCall:
    """A call as a server sends it: `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class RightAnswer:
    """An answer that the oracle accepts. `refuses` is the parameter that a 400 names, None where it is a 200."""

    calls: tuple[RightCall, ...] = ()
    content: str | None = None
    reasoning: str | None = None
    finish: str = "stop"
    refuses: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One instance of a family, before it becomes a case."""

    request: JsonObject
    oracle: Oracle
    answer: RightAnswer
    formats: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of question. Its name is for ever; `make` gives the same question for the same draw."""

    name: str
    make: Callable[[Draw], Question]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that is right. `leaves` says by pointer how values are compared that are not compared exactly."""

    name: str
    arguments: JsonObject
    leaves: Mapping[str, Leaf] = field(default_factory=dict)

    @property
    def expected(self) -> ExpectedCall:
        exact = {place: Leaf("exact", value) for place, value in _values("", self.arguments)}
        covered = tuple(f"{place}/" for place in self.leaves)
        args = {place: leaf for place, leaf in exact.items() if not place.startswith(covered)}
        return ExpectedCall(self.name, {**args, **self.leaves})

    @property
    def right(self) -> RightCall:
        return RightCall(self.name, json.dumps(self.arguments, ensure_ascii=False))


def pointer(*steps: str | int) -> str:
    """The RFC 6901 pointer of these steps."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def _values(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value that holds no other, with its pointer; nothing where the whole is empty."""
    items: Sequence[tuple[str | int, Any]] = ()
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, list | tuple):
        items = list(enumerate(value))
    if not items and place:
        yield place, value
    for key, item in items:
        yield from _values(place + pointer(key), item)


def must_call(request: JsonObject, *wanted: Wanted, finish: tuple[str, ...] = ("tool_calls",)) -> Question:
    """Right are exactly these calls, in any order."""
    oracle = Oracle(Trigger.MUST, tuple(one.expected for one in wanted), finish=finish)
    return Question(request, oracle, calling(*wanted))


def must_not_call(request: JsonObject, says: str) -> Question:
    """Right is any text without a call."""
    return Question(request, Oracle(Trigger.MUST_NOT, finish=("stop",)), RightAnswer(content=says))


def calling(*wanted: Wanted) -> RightAnswer:
    return RightAnswer(tuple(one.right for one in wanted), finish="tool_calls")
