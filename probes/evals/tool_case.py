"""Eval items whose answers are calls of tools, as tool-call cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from probes.evals.item import EvalItem
from probes.tools.case import Case, Category, ExpectedCall, Leaf, Match, Oracle, Trigger

FAMILY = "suite"


def tool_case(item: EvalItem, *, reps: int = 1) -> Case:
    """The case that an item of kind `tool_calls` is: `expected` is its oracle, {trigger, calls: [{name, args}],
    ordered}, or None where any calls that pass their schemas are right, and none too.

    Raises ValueError where it cannot be one.
    """
    oracle = oracle_of(item.expected)
    return Case(_category(oracle), FAMILY, item.request, oracle, reps=reps)


def oracle_of(expected: Any) -> Oracle:
    if expected is None:
        return Oracle(Trigger.FREE)
    if not isinstance(expected, Mapping):
        raise ValueError("what is expected of calls is an object")
    calls = expected.get("calls", [])
    if not isinstance(calls, list):
        raise ValueError("the expected calls are a list")
    told = expected.get("trigger", Trigger.MUST if calls else Trigger.FREE)
    if told not in list(Trigger):
        raise ValueError(f"the trigger is none of {', '.join(Trigger)}")
    trigger = Trigger(told)
    return Oracle(trigger, tuple(map(_call, calls)), ordered=expected.get("ordered") is True)


def _call(call: Any) -> ExpectedCall:
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
        raise ValueError("an expected call is an object with a name")
    args = call.get("args", {})
    if not isinstance(args, Mapping) or not all(isinstance(leaf, Mapping) for leaf in args.values()):
        raise ValueError("the args of an expected call map pointers to objects")
    leaves = {pointer: _leaf(leaf) for pointer, leaf in args.items()}
    return ExpectedCall(call["name"], leaves, open=call.get("open") is True)


def _leaf(leaf: Mapping[str, Any]) -> Leaf:
    match, tolerance = leaf.get("match", "exact"), leaf.get("tolerance", 0.0)
    if not isinstance(match, str) or isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
        raise ValueError("the match of an argument is no text, or its tolerance no number")
    return Leaf(cast(Match, match), leaf.get("value"), tolerance)


def _category(oracle: Oracle) -> Category:
    if oracle.trigger is Trigger.MUST_NOT:
        return Category.T2
    return Category.T9 if len(oracle.calls) > 1 else Category.T1
