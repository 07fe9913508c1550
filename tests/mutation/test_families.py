"""Right answers to the cases of every family are green, and a fault turns red the families that are there for it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from probes.quirks import Quirk
from probes.tools.case import Trigger
from probes.tools.ladder import Rung
from probes.tools.scored import Fault
from tests.endpoints.answers import Call
from tests.endpoints.edits import arguments, calls, content, finish, if_it_is_json, if_json, says
from tests.endpoints.shifts import deaf
from tests.endpoints.wire import Wire
from tests.mutation.families import FAMILIES, red_families
from tests.mutation.running import Red

pytestmark = pytest.mark.mutation

# Control characters that were asked for, and arguments that were cut as asked.
SHOWN = {
    "T7 controls": Red.of(Quirk.TC_ARGS_CONTROL_CHAR),
    "T12 prose": Red.of(Quirk.TC_ARGS_INVALID_JSON),
    "T12 rows": Red.of(Quirk.TC_ARGS_INVALID_JSON),
}
CALLING = {name for name, one in FAMILIES.items() if one.answer.calls and not one.case.oracle.cut}
# One family of each category.
WITNESSES = set({name.split()[0]: name for name in sorted(FAMILIES)}.values())
CALLERS = CALLING & WITNESSES
MUST_NOT = {name for name, one in FAMILIES.items() if one.case.oracle.trigger is Trigger.MUST_NOT}


def in_category(*categories: str) -> set[str]:
    return {name for name in FAMILIES if name.split()[0] in categories}


def may_stop(name: str) -> bool:
    return "stop" in FAMILIES[name].case.oracle.finish


def place_of_tool(name: str) -> int:
    """Where in the list of tools the first one stands that is to be called."""
    return list(FAMILIES[name].case.tools).index(FAMILIES[name].answer.calls[0].name)


def first_tools(count: int) -> Wire:
    return Wire(hears=lambda heard: {**heard, "tools": heard["tools"][:count]} if heard.get("tools") else heard)


def _floats(value: Any) -> Any:
    return json.loads(json.dumps(value), parse_int=float)


def _without_nulls(value: Any) -> Any:
    return {name: item for name, item in value.items() if item is not None}


def test_right_answers_are_all_green() -> None:
    assert red_families(Wire()) == SHOWN


RUNGS: dict[str, tuple[Wire, Rung]] = {
    "an object": (arguments(if_it_is_json), Rung.ARGS_NOT_STRING),
    "said twice": (arguments(lambda text: text * 2), Rung.INVALID_JSON),
    "a tool that is not there": (calls(lambda call: replace(call, name="moor")), Rung.UNKNOWN_TOOL),
    "encoded twice": (arguments(json.dumps), Rung.NOT_OBJECT),
    "a value too many": (if_json(lambda value: {**value, "colour": "red"}), Rung.SCHEMA_MISMATCH),
}


@pytest.mark.parametrize(("wire", "rung"), RUNGS.values(), ids=RUNGS)
def test_every_category_that_calls_fails_at_the_rung_of_the_fault(wire: Wire, rung: Rung) -> None:
    red = red_families(wire, only=CALLERS)
    assert {name: one.rungs for name, one in red.items()} == {name: {rung} for name in CALLERS}
    assert all(Fault.CALL_BROKEN in one.faults for one in red.values())


def test_a_call_where_none_is_due_is_found_by_all_that_must_not_call() -> None:
    red = red_families(says(lambda answer: replace(answer, calls=(Call("moor"),))), only=MUST_NOT)
    assert {name for name, one in red.items() if Fault.CALLED in one.faults} == MUST_NOT


T11_LONG = {"T11 code-2k", "T11 log-6k", "T11 prose-8k", "T11 rows-3k", "T11 table-4k"}
FINDERS: dict[str, tuple[Wire, set[str], Fault]] = {
    "the tools dropped": (deaf("tools", "tool_choice"), CALLERS, Fault.NOT_CALLED),
    "the list of tools cut": (
        first_tools(12),
        {name for name in CALLING if place_of_tool(name) >= 12},
        Fault.NOT_CALLED,
    ),
    "integers as floats": (if_json(_floats), {"T6 big-integer"}, Fault.VALUES),
    "minus zero as zero": (arguments(lambda text: text.replace("-0.0", "0.0")), {"T6 negative-zero"}, Fault.VALUES),
    "nulls left out": (if_json(_without_nulls), {"T6 null", "T5 registration"}, Fault.CALL_BROKEN),
    "line ends unescaped": (
        arguments(lambda text: text.replace("\\n", "\n")),
        {"T7 backslashes", "T7 code-block", "T7 newlines", *in_category("T11")},
        Fault.CALL_BROKEN,
    ),
    "ASCII alone": (
        arguments(lambda text: text.encode("ascii", "replace").decode()),
        {"T7 emoji", "T7 right-to-left", "T7 scripts", "T11 scripts-1k"},
        Fault.VALUES,
    ),
    "call tags taken out": (arguments(lambda text: re.sub("</?tool_call>", "", text)), {"T7 call-tags"}, Fault.VALUES),
    "empty text for no arguments": (
        arguments(lambda text: "" if text == "{}" else text),
        in_category("T8"),
        Fault.CALL_BROKEN,
    ),
    "one call only": (
        says(lambda answer: replace(answer, calls=answer.calls[:1])),
        in_category("T9"),
        Fault.CALL_MISSING,
    ),
    "1 KB of arguments": (arguments(lambda text: text[:1024]), T11_LONG, Fault.CALL_BROKEN),
    "the cut masked": (says(lambda answer: replace(answer, finish=None)), in_category("T12"), Fault.FINISH),
    "reasoning lost": (says(lambda answer: replace(answer, reasoning="")), {"T13 on"}, Fault.REASONING_MISSING),
    "reasoning that was switched off": (
        says(lambda answer: replace(answer, reasoning=answer.reasoning or "Let me see.")),
        {"T13 off"},
        Fault.REASONING_PRESENT,
    ),
    "response_format ignored": (
        content(lambda text: f"Here you are: {text}" if text.startswith("{") else text),
        in_category("T16"),
        Fault.CONTENT_NOT_JSON,
    ),
    "stop beside calls": (
        finish("stop"),
        {name for name in WITNESSES if FAMILIES[name].answer.calls and not may_stop(name)},
        Fault.FINISH,
    ),
}


@pytest.mark.parametrize(("wire", "finders", "fault"), FINDERS.values(), ids=FINDERS)
def test_a_fault_is_found_by_the_families_that_are_there_for_it_and_by_no_other_category(
    wire: Wire, finders: Collection[str], fault: Fault
) -> None:
    faults = {name: one.faults for name, one in red_families(wire, only={*WITNESSES, *finders}).items() if one.faults}
    assert faults.keys() == set(finders)
    assert all(fault in found for found in faults.values())
