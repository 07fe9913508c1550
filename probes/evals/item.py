"""An eval item: one request, how its answer is graded, and what is expected."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from probes.tools.canonical import canonical_json
from probes.wire.json_value import MAX_NESTING, nesting_of

# Whom to ask, and in which form to answer, is the client's business.
NOT_AN_ITEMS = ("model", "stream", "stream_options")
# What may stand in the body of a chat request; anything else on a line says something of the item.
REQUEST_KEYS = frozenset(
    {
        "chat_template_kwargs",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "min_p",
        "n",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning",
        "reasoning_effort",
        "repetition_penalty",
        "response_format",
        "seed",
        "stop",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_logprobs",
        "top_p",
    }
)
_MAX_CATEGORY = 64


class GraderKind(StrEnum):
    EXACT = "exact"
    """The answer is one of the expected texts, blanks around it aside."""
    NORMALISED = "normalised"
    """The same, letter case, punctuation, blanks and articles aside."""
    REGEX = "regex"
    """A pattern is found in the answer, or must not be."""
    NUMBER = "number"
    """The number that the answer ends with, within a tolerance."""
    CHOICE = "choice"
    """The letter of a multiple choice."""
    JSON_SCHEMA = "json_schema"
    """The answer is JSON that passes a schema."""
    CODE = "code"
    """The code in the answer passes tests, in the sandbox."""
    JUDGE = "judge"
    """The reference says whether the answer says what is expected."""
    TOOL_CALLS = "tool_calls"
    """The calls of the answer, as of a tool-call case."""
    UNGRADED = "ungraded"
    """The item is asked and kept, and no answer to it is right or wrong."""


# Each kind's options with their types.
OPTIONS: Mapping[GraderKind, Mapping[str, type | tuple[type, ...]]] = {
    GraderKind.EXACT: {},
    GraderKind.NORMALISED: {"anywhere": bool},
    GraderKind.REGEX: {"absent": bool},
    GraderKind.NUMBER: {"tolerance": (int, float), "relative": (int, float)},
    GraderKind.CHOICE: {"choices": list},
    GraderKind.JSON_SCHEMA: {"fenced": bool},
    GraderKind.CODE: {"before": str, "cpu_s": int, "wall_s": (int, float), "memory_mb": int},
    GraderKind.JUDGE: {},
    GraderKind.TOOL_CALLS: {},
    GraderKind.UNGRADED: {},
}
# What the numbers among them may be.
BOUNDS: Mapping[str, tuple[float, float]] = {
    "tolerance": (0, 1e300),
    "relative": (0, 1),
    "cpu_s": (1, 60),
    "wall_s": (0.1, 120),
    "memory_mb": (64, 4096),
}


@dataclass(frozen=True, slots=True)
class Grader:
    """How answers are graded. Raises ValueError for an option that its kind does not have, or that cannot be."""

    kind: GraderKind
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = OPTIONS[self.kind]
        for name, value in self.options.items():
            if name not in known:
                raise ValueError(f"the grader {self.kind} has no such option; it has {', '.join(known) or 'none'}")
            wanted = known[name]
            if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
                raise ValueError(f"the grader {self.kind} has an option {name} of the wrong type")
            low, high = BOUNDS.get(name, (0, 0))
            if name in BOUNDS and not low <= self.options[name] <= high:
                raise ValueError(f"the option {name} of the grader {self.kind} is not between {low:g} and {high:g}")

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind.value, **self.options}


@dataclass(frozen=True, slots=True)
class EvalItem:
    """One item. `request` is a chat request without model and stream. Neither it nor what is expected is ever shown
    outside the private store: the representation has only hashes.

    Raises ValueError, which never quotes the item, where it cannot be one.
    """

    request: Mapping[str, Any]
    grader: Grader
    expected: Any = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = field(init=False)
    """The item's name in results: over what is asked, how it is graded and what is right, in canonical form."""
    content_sha256: str = field(init=False)
    """The same with `meta`."""
    prompt_sha256: str = field(init=False)

    def __post_init__(self) -> None:
        _check_request(self.request)
        expected, meta, request = map(_canonical, (self.expected, self.meta, self.request))
        grader = _canonical(self.grader.as_json())
        # Canonical text is put together from canonical parts, in the order of their names.
        object.__setattr__(self, "sha256", _hash(f'{{"expected":{expected},"grader":{grader},"request":{request}}}'))
        content = f'{{"expected":{expected},"grader":{grader},"meta":{meta},"request":{request}}}'
        if nesting_of(content) > MAX_NESTING:
            raise ValueError("it is nested too deeply")
        object.__setattr__(self, "content_sha256", _hash(content))
        object.__setattr__(self, "prompt_sha256", _hash(request))

    @property
    def line(self) -> str:
        """The item in our own format. Keys keep their order: a chat template shows it to the model."""
        told = {"request": self.request, "grader": self.grader.as_json(), "expected": self.expected, "meta": self.meta}
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    @property
    def category(self) -> str:
        """What its file calls its kind; empty where it does not say."""
        found = self.meta.get("category")
        return found[:_MAX_CATEGORY] if isinstance(found, str) else ""

    def __repr__(self) -> str:
        return f"EvalItem({self.sha256[:12]}, {self.grader.kind})"


def split_request(line: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What of a line is sent, and everything else that it says."""
    request = {key: value for key, value in line.items() if key in REQUEST_KEYS}
    return request, {key: value for key, value in line.items() if key not in REQUEST_KEYS}


def _check_request(request: Mapping[str, Any]) -> None:
    for name in NOT_AN_ITEMS:
        if name in request:
            raise ValueError(f"its request sets {name}, which is the client's business")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ValueError("its request has no messages")
    if not all(isinstance(message, Mapping) and isinstance(message.get("role"), str) for message in messages):
        raise ValueError("a message is not an object with a role")
    if not isinstance(request.get("tools", []), list):
        raise ValueError("its tools are not a list")


def _hash(canonical: str) -> str:
    return hashlib.sha256(canonical.encode()).hexdigest()


def _canonical(value: Any) -> str:
    """Raises ValueError, where that of `canonical_json` would name a place in the item."""
    try:
        text = canonical_json(value)
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a surrogate pair, which no text has") from None
    except ValueError:
        raise ValueError("it holds a number that JSON has no word for") from None
    return text
