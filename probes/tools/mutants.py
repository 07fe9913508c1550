"""Answers that are almost right: each is a right one with one thing changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from probes.tools.case import Case, ExpectedCall, Oracle, Trigger
from probes.tools.matchers import matches
from probes.tools.pointers import below, leaves, resolve, steps, upward
from probes.tools.score import score
from probes.tools.sketch import Drawn, DrawnCall, sample_of

STRANGE_KEY = "unasked_for"
STRANGE_TOOL = "no_such_tool"
# Stands in no enum and fits no pattern that means something.
STRANGE_TEXT = "\u00a7"

_FINISHES = ("stop", "tool_calls")


@dataclass(frozen=True, slots=True)
class Mutant:
    """`change` says what was changed, and quotes nothing of the case but its own names."""

    change: str
    sketch: Drawn


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """`kind` is one of drop, add, type, value; `pointer` is where."""

    kind: str
    pointer: str
    value: Any


def mutants(case: Case, right: Drawn) -> Iterator[Mutant]:
    """All that have to be rejected, given an answer that is right."""
    if right.refuses is not None:
        yield from _of_refusal(case, right)
    elif case.oracle.cut:
        yield from _of_cut(right)
    else:
        yield from _of_calls(case, right)
        yield from _of_the_rest(case, right)


def changed_values(value: Any) -> Iterator[ChangedValue]:
    """`value` with a member dropped or added, or a leaf of another type or with another value."""
    for pointer, members in _objects(value):
        for key in members:
            yield ChangedValue("drop", below(pointer, key), _without(value, pointer, key))
        yield ChangedValue("add", pointer, _with(value, below(pointer, STRANGE_KEY), 1))
    for pointer, leaf in leaves(value):
        if pointer:
            yield ChangedValue("type", pointer, _with(value, pointer, _of_another_type(leaf)))
            yield ChangedValue("value", pointer, _with(value, pointer, _another(leaf)))


def _of_calls(case: Case, right: Drawn) -> Iterator[Mutant]:
    oracle = case.oracle
    if oracle.trigger is Trigger.MUST_NOT:
        yield Mutant("a call", replace(right, calls=(DrawnCall(next(iter(case.tools), STRANGE_TOOL), "{}"),)))
    if case.request.get("tool_choice") != "none":
        yield Mutant("a call in the text", replace(right, calls=(), as_text=True))
    # Where calling is open, one that cannot be carried out is wrong all the same.
    made = right.calls or (() if oracle.trigger is Trigger.MUST_NOT else (DrawnCall(STRANGE_TOOL, "{}"),))
    for place, call in enumerate(made):
        yield Mutant(f"call {place}: an undeclared tool", _with_call(right, place, replace(call, name=STRANGE_TOOL)))
        yield Mutant(
            f"call {place}: cut arguments", _with_call(right, place, replace(call, arguments=call.arguments[:-1]))
        )
        twice = json.dumps(call.arguments)
        yield Mutant(f"call {place}: encoded twice", _with_call(right, place, replace(call, arguments=twice)))
    if right.calls:
        yield from _of_number(oracle, right)
    for place, scored in enumerate(score(case, sample_of(case, right)).calls):
        if scored.expected is not None:
            yield from _of_call(case, right, place, oracle.calls[scored.expected])


def _of_number(oracle: Oracle, right: Drawn) -> Iterator[Mutant]:
    calls = right.calls
    if len(calls) > 1 or oracle.trigger is Trigger.MUST:
        yield Mutant("one call fewer", replace(right, calls=calls[:-1]))
    if oracle.calls or oracle.most_calls is not None:
        yield Mutant("one call more", replace(right, calls=(*calls, calls[0])))
    turned = calls[::-1]
    if oracle.ordered and turned != calls:
        yield Mutant("another order", replace(right, calls=turned))


def _of_call(case: Case, right: Drawn, place: int, expected: ExpectedCall) -> Iterator[Mutant]:
    call = right.calls[place]
    # Where one of several calls is due, another tool may be as right.
    taken = {call.name} if case.oracle.most_calls is None else {wanted.name for wanted in case.oracle.calls}
    other = next((name for name in case.tools if name not in taken), None)
    if other is not None:
        yield Mutant(f"call {place}: another tool", _with_call(right, place, replace(call, name=other)))
    for changed in changed_values(json.loads(call.arguments)):
        if not _is_lawful(expected, changed):
            mutated = replace(call, arguments=json.dumps(changed.value))
            yield Mutant(f"call {place}: {changed.kind} {changed.pointer}", _with_call(right, place, mutated))


def _is_lawful(expected: ExpectedCall, changed: ChangedValue) -> bool:
    """Whether the oracle says itself that the change is none."""
    cover = next((place for place in upward(changed.pointer) if place in expected.args), None)
    if cover is None:
        beneath = [leaf for place, leaf in expected.args.items() if changed.pointer in upward(place)]
        if changed.kind == "drop" and beneath:
            return all(leaf.match == "absent_ok" for leaf in beneath)
        return expected.open
    leaf = expected.args[cover]
    if changed.kind == "drop" and cover == changed.pointer:
        return leaf.match == "absent_ok"
    return leaf.match == "any_of" and matches(leaf, resolve(cover, changed.value))


def _of_the_rest(case: Case, right: Drawn) -> Iterator[Mutant]:
    oracle = case.oracle
    wrong_finish = next((finish for finish in _FINISHES if finish not in oracle.finish), None)
    if oracle.finish and wrong_finish is not None:
        yield Mutant("another finish reason", replace(right, finish=wrong_finish))
    if oracle.content is not None:
        yield Mutant("other content", replace(right, content=STRANGE_TEXT))
    if oracle.content_schema is not None and not right.calls:
        yield Mutant("content that is no JSON", replace(right, content=f"```json\n{right.content}\n```"))
    if oracle.reasoning is not None:
        toggled = None if oracle.reasoning == "present" else "One thing after the other."
        yield Mutant(f"reasoning not {oracle.reasoning}", replace(right, reasoning=toggled))
        leaked = f"<think>So.</think>{right.content or ''}"
        yield Mutant("reasoning in the content", replace(right, content=leaked))
    if oracle.rejected and oracle.refusal_names:
        yield Mutant("a refusal that names nothing", Drawn(refuses=""))


def _of_refusal(case: Case, right: Drawn) -> Iterator[Mutant]:
    if case.oracle.refusal_names:
        yield Mutant("a refusal that names nothing", replace(right, refuses=""))
    if not case.oracle.answered:
        yield Mutant("an answer", Drawn(content="Done."))


def _of_cut(right: Drawn) -> Iterator[Mutant]:
    if right.calls:
        yield Mutant("a finish reason that hides the cut", replace(right, finish="tool_calls"))
        mended = tuple(replace(call, arguments="{}") for call in right.calls)
        yield Mutant("arguments that were mended", replace(right, calls=mended))


def _with_call(right: Drawn, place: int, call: DrawnCall) -> Drawn:
    return replace(right, calls=(*right.calls[:place], call, *right.calls[place + 1 :]))


def _objects(value: Any, pointer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        yield pointer, value
        for key, item in value.items():
            yield from _objects(item, below(pointer, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _objects(item, below(pointer, place))


def _without(value: Any, pointer: str, key: str) -> Any:
    copy = deepcopy(value)
    del resolve(pointer, copy)[key]
    return copy


def _with(value: Any, pointer: str, item: Any) -> Any:
    copy = deepcopy(value)
    container = resolve(pointer.rpartition("/")[0], copy)
    step = steps(pointer)[-1]
    container[int(step) if isinstance(container, list) else step] = item
    return copy


def _of_another_type(leaf: Any) -> Any:
    return {STRANGE_KEY: leaf} if isinstance(leaf, str) else json.dumps(leaf)


def _another(leaf: Any) -> Any:
    """A value of the same type that is far from `leaf`."""
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int | float):
        return -2 * leaf - 12_345
    if isinstance(leaf, str):
        return STRANGE_TEXT if leaf != STRANGE_TEXT else 2 * STRANGE_TEXT
    return [STRANGE_TEXT] if isinstance(leaf, list) else {STRANGE_KEY: STRANGE_TEXT} if leaf == {} else 0
