"""Answers that were never sent: what a case's right answer looks like, and samples made of such."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from probes.completion import Completion, ToolCall
from probes.plan import Attempt, Item, Outcome, Sample
from probes.quirks import Disposition, Quirk
from probes.tools.case import Case, ExpectedCall, Leaf, Oracle, Trigger
from probes.tools.example import example_of
from probes.tools.pointers import steps

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_WORDS = "Nothing needs to be done."


class SketchedCall(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def arguments(self) -> str: ...


class Sketch(Protocol):
    """What an answer says. `refuses` is the parameter that a 400 names, None where it is a 200."""

    @property
    def calls(self) -> Sequence[SketchedCall]: ...

    @property
    def content(self) -> str | None: ...

    @property
    def reasoning(self) -> str | None: ...

    @property
    def finish(self) -> str: ...

    @property
    def refuses(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class DrawnCall:
    """`arguments` is the text that a client gets."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sketch of our own. `as_text` is whether its content holds a call in some model's syntax."""

    calls: tuple[DrawnCall, ...] = ()
    content: str | None = None
    reasoning: str | None = None
    finish: str = "stop"
    refuses: str | None = None
    as_text: bool = False

    @classmethod
    def like(cls, sketch: Sketch) -> Drawn:
        calls = tuple(DrawnCall(call.name, call.arguments) for call in sketch.calls)
        return cls(calls, sketch.content, sketch.reasoning, sketch.finish, sketch.refuses)


def right_answer(case: Case) -> Drawn:
    """An answer that the oracle should accept. Raises ValueError where it does not say enough to make one."""
    oracle = case.oracle
    if not oracle.answered:
        return Drawn(refuses=next(iter(oracle.refusal_names), ""))
    if oracle.cut:
        name = oracle.calls[0].name if oracle.calls else next(iter(case.tools), "")
        return Drawn((DrawnCall(name, '{"'),), finish="length")
    calls = tuple(_right_calls(case))
    return Drawn(
        calls,
        content=None if calls and oracle.content is None else _right_content(oracle),
        reasoning="One thing after the other." if oracle.reasoning == "present" else None,
        finish=oracle.finish[0] if oracle.finish else ("tool_calls" if calls else "stop"),
    )


def sample_of(case: Case, sketch: Drawn) -> Sample:
    """The sample that a client would bring home."""
    if sketch.refuses is not None:
        return _refusal(case, sketch.refuses)
    completion = Completion(
        Disposition.FLAG if sketch.as_text else Disposition.ACCEPT,
        (Quirk.TC_AS_TEXT,) if sketch.as_text else (),
        200,
        content=sketch.content,
        reasoning=sketch.reasoning,
        tool_calls=tuple(
            ToolCall(call.name, f"call_{place}", arguments_raw=call.arguments, arguments_text=call.arguments)
            for place, call in enumerate(sketch.calls)
        ),
        finish_reason=sketch.finish,
    )
    attempt = Attempt(200, {}, b"", _NEVER, 0.0)
    return Sample(Item(case.key, 0, case.request), Outcome.OK, completion, (attempt,))


def _refusal(case: Case, parameter: str) -> Sample:
    said = f"Invalid value for '{parameter}'." if parameter else "The request cannot be answered."
    body = json.dumps({"error": {"message": said}}).encode()
    completion = Completion(Disposition.ERROR, (), 400, error_message=said)
    attempt = Attempt(400, {}, body, _NEVER, 0.0, "provider_rejected")
    return Sample(Item(case.key, 0, case.request), Outcome.HTTP_ERROR, completion, (attempt,))


def _right_calls(case: Case) -> list[DrawnCall]:
    oracle = case.oracle
    if oracle.calls:
        expected = oracle.calls[: oracle.most_calls]
        return [DrawnCall(call.name, json.dumps(_right_arguments(case, call))) for call in expected]
    if oracle.trigger is not Trigger.MUST:
        return []
    name, parameters = next(iter(case.tools.items()), ("", None))
    return [DrawnCall(name, json.dumps(example_of(parameters)))]


def _right_arguments(case: Case, call: ExpectedCall) -> Any:
    if call.example is not None:
        return call.example
    root: dict[str, Any] = {"": example_of(case.tools[call.name]) if call.open else {}}
    # Items of a list in their order.
    for pointer in sorted(call.args, key=lambda pointer: [(len(step), step) for step in steps(pointer)]):
        _put(root, ["", *steps(pointer)], _right_value(call.args[pointer]))
    return root[""]


def _put(container: Any, path: list[str], value: Any) -> None:
    """Sets the place that `path` leads to; where nothing is yet, a step "0" begins a list."""
    step, *rest = path
    place: str | int = step
    if isinstance(container, list) and step.isdecimal() and int(step) <= len(container):
        place = int(step)
        container.extend([_begun(rest)] * (place == len(container)))
    elif isinstance(container, dict):
        container.setdefault(step, _begun(rest))
    else:
        raise ValueError("its pointers do not make one value: give an example")
    if rest:
        _put(container[place], rest, value)
    else:
        container[place] = value


def _begun(rest: list[str]) -> Any:
    """What the steps after this one are taken in."""
    return [] if rest and rest[0] == "0" else {}


def _right_value(leaf: Leaf) -> Any:
    if leaf.match == "regex":
        raise ValueError("a regex does not say what matches it: give an example")
    return deepcopy(leaf.value[0] if leaf.match == "any_of" and leaf.value else leaf.value)


def _right_content(oracle: Oracle) -> str:
    if oracle.content_schema is not None:
        return json.dumps(example_of(oracle.content_schema))
    if oracle.content is None:
        return _WORDS
    value = _right_value(oracle.content)
    return value if isinstance(value, str) else json.dumps(value)
