"""A tool-call case: one request, and what a right answer to it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal, get_args

from probes.tools.canonical import sha256_of
from probes.wire.json_value import as_object, as_text

Match = Literal["exact", "ci", "number", "date", "set", "regex", "any_of", "absent_ok"]
Presence = Literal["present", "absent"]

# Whom to ask, and in which form to answer, is the client's business.
_NOT_A_CASES = ("model", "stream", "stream_options")
_TEXT_MATCHES = frozenset({"ci", "date", "regex"})
_LIST_MATCHES = frozenset({"set", "any_of"})


class Category(StrEnum):
    """The categories of PROBES.md 5.1."""

    T1 = "T1"
    """Must call, one tool."""
    T2 = "T2"
    """Must not call."""
    T3 = "T3"
    """Calling is a matter of chance, calibrated on the reference."""
    T4 = "T4"
    """Selection among many or similar tools."""
    T5 = "T5"
    """Closed nested schemas."""
    T6 = "T6"
    """Type traps."""
    T7 = "T7"
    """Escape traps."""
    T8 = "T8"
    """Tools without, or with only optional, arguments."""
    T9 = "T9"
    """Parallel calls."""
    T10 = "T10"
    """`tool_choice` and `parallel_tool_calls`."""
    T11 = "T11"
    """Long arguments, copied verbatim."""
    T12 = "T12"
    """`max_tokens` cuts inside the arguments."""
    T13 = "T13"
    """Reasoning beside tools."""
    T14 = "T14"
    """Shapes of the history."""
    T15 = "T15"
    """Loops of several turns."""
    T16 = "T16"
    """`response_format` with and without tools."""


class Trigger(StrEnum):
    """Whether the right answer calls a tool. FREE: calling or not is no matter of the case."""

    MUST = "must"
    MUST_NOT = "must_not"
    CALIBRATED = "calibrated"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Leaf:
    """How one value of the arguments is compared.

    exact: the same JSON value, numbers by their digits (2 is 2.0; 2**53 + 1 is not 2**53; -0 is not 0). ci: letter
    case and runs of blanks aside. number: within `tolerance`. date: the same day or instant. set: the same items in any
    order. regex: found in the text, as JSON Schema's `pattern`. any_of: one of the values of a list. absent_ok: exact
    where it is there.
    """

    match: Match
    value: Any = None
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if self.match not in get_args(Match):
            raise ValueError(f"a match is one of {', '.join(get_args(Match))}")
        if self.match in _TEXT_MATCHES and not isinstance(self.value, str):
            raise ValueError(f"{self.match} compares with a string")
        if self.match in _LIST_MATCHES and not isinstance(self.value, list | tuple):
            raise ValueError(f"{self.match} compares with a list")
        if self.match == "number" and (isinstance(self.value, bool) or not isinstance(self.value, int | float)):
            raise ValueError("number compares with a number")
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise ValueError("a tolerance is finite and not below 0")


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """`args` maps RFC 6901 pointers to how the value there is compared, containers included; "" is all arguments.

    A value that no pointer covers is wrong unless `open`. `example` is right arguments, for the lint; it is needed only
    where the pointers and their values do not make them, because of a regex or an `open` call.
    """

    name: str
    args: Mapping[str, Leaf]
    open: bool = False
    example: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("an expected call has a name")
        for pointer in self.args:
            if pointer and not pointer.startswith("/"):
                raise ValueError("an argument is named by a JSON pointer, which is empty or starts with /")


@dataclass(frozen=True, slots=True)
class Oracle:
    """What a right answer is.

    calls: what it calls; where the trigger is MUST and there are none, any calls that pass their tools' schemas.
    most_calls: it calls no more than that many, and as many of `calls` as that allows.
    finish: the finish reasons it may have; any where empty.
    content: how its text is compared. content_schema: its text is JSON that passes this schema.
    reasoning: whether it holds reasoning; None where that is no matter of the case.
    cut: `max_tokens` ends it inside its arguments.
    rejected: a 4xx that names one of `refusal_names` (any 4xx where there are none) is right.
    answered: a 2xx that meets all of the above is right.
    """

    trigger: Trigger
    calls: tuple[ExpectedCall, ...] = ()
    ordered: bool = False
    most_calls: int | None = None
    finish: tuple[str, ...] = ()
    content: Leaf | None = None
    content_schema: Mapping[str, Any] | None = None
    reasoning: Presence | None = None
    cut: bool = False
    rejected: bool = False
    refusal_names: tuple[str, ...] = ()
    answered: bool = True

    def __post_init__(self) -> None:
        if self.trigger is Trigger.MUST_NOT and self.calls:
            raise ValueError("an answer that must not call has no expected calls")
        if self.most_calls is not None and self.most_calls < 1:
            raise ValueError("most_calls is at least 1; none at all is the trigger must_not")
        if self.refusal_names and not self.rejected:
            raise ValueError("refusal_names say what a refusal names; set rejected too")
        if not (self.rejected or self.answered):
            raise ValueError("either an answer or a refusal is right")
        if self.cut and "length" not in (self.finish or ("length",)):
            raise ValueError("an answer that is cut finishes with length")
        if self.reasoning not in (None, *get_args(Presence)):
            raise ValueError("reasoning is present, absent or None")


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `key` is the content hash of what is asked and what is right; `family` is the stable name of the kind
    within the category, `formats` whether its schemas assert `format`.

    Raises ValueError, quoting nothing that may be private, where what it is made of cannot be a case.
    """

    category: Category
    family: str
    request: Mapping[str, Any]
    oracle: Oracle
    anchor: bool = False
    reps: int = 5
    formats: bool = False
    tags: tuple[str, ...] = ()
    key: str = field(init=False)

    def __post_init__(self) -> None:
        if not self.family:
            raise ValueError("a case belongs to a family")
        if self.reps < 1:
            raise ValueError("a case is asked at least once")
        _check_request(self.request)
        if not {call.name for call in self.oracle.calls} <= self.tools.keys():
            raise ValueError("an expected call names a tool that the request does not declare")
        object.__setattr__(self, "key", sha256_of(self._content()))

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def tools(self) -> Mapping[str, Any]:
        """The declared tools' `parameters` by name, None where a tool has none."""
        functions = [as_object(as_object(tool).get("function")) for tool in self.request.get("tools") or ()]
        return {function["name"]: function.get("parameters") for function in functions}

    def _content(self) -> dict[str, Any]:
        return {
            "category": self.category,
            "family": self.family,
            "request": self.request,
            "oracle": asdict(self.oracle),
            "formats": self.formats,
        }


def case_of(item_key: str) -> str:
    """The key of the case that an item of a plan asks, in whichever mode."""
    return item_key.partition("-")[0]


def _check_request(request: Mapping[str, Any]) -> None:
    for name in _NOT_A_CASES:
        if name in request:
            raise ValueError(f"a case's request does not set {name!r}")
    messages = request.get("messages")
    if not isinstance(messages, list | tuple) or not messages:
        raise ValueError("a case's request has messages")
    if not all(isinstance(message, Mapping) and isinstance(message.get("role"), str) for message in messages):
        raise ValueError("each message is an object with a role")
    tools = request.get("tools") or ()
    if not isinstance(tools, list | tuple):
        raise ValueError("tools is a list")
    names = [as_text(as_object(as_object(tool).get("function")).get("name")) for tool in tools]
    if not all(names):
        raise ValueError('each tool is {"type": "function", "function": {"name": …}}')
    if len(set(names)) < len(names):
        raise ValueError("two tools have the same name")
