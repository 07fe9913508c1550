from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.completion import ToolCall
from probes.tools.ladder import Climb, Info, Repair, Rung, climb, group_of
from probes.tools.schemas import tool_schemas
from probes.wire.argument_schema import SchemaFault
from tests.probes.tools.answers import case, exactly

TOOLS = tool_schemas(case(exactly("book")))
GOOD = '{"berth": 7, "vessel": "Petrel"}'


def climbed(text: str, name: str = "book", *, as_string: bool = True) -> Climb:
    return climb(ToolCall(name, arguments_text=text, as_string=as_string), TOOLS)


@pytest.mark.parametrize(
    ("text", "name", "strict", "lenient", "repair"),
    [
        (GOOD, "book", Rung.OK, Rung.OK, None),
        ("{}", "list", Rung.OK, Rung.OK, None),
        ("", "list", Rung.INVALID_JSON, Rung.OK, Repair.EMPTY_ARGUMENTS),
        ("", "book", Rung.INVALID_JSON, Rung.INVALID_JSON, None),
        (" ", "list", Rung.INVALID_JSON, Rung.INVALID_JSON, None),
        ("null", "list", Rung.NOT_OBJECT, Rung.NOT_OBJECT, None),
        ("[1]", "book", Rung.NOT_OBJECT, Rung.NOT_OBJECT, None),
        (json.dumps(GOOD), "book", Rung.NOT_OBJECT, Rung.OK, Repair.DOUBLE_ENCODED),
        (json.dumps(json.dumps(GOOD)), "book", Rung.NOT_OBJECT, Rung.NOT_OBJECT, None),
        (json.dumps("Petrel"), "book", Rung.NOT_OBJECT, Rung.NOT_OBJECT, None),
        (json.dumps('{"berth": "7"}'), "book", Rung.NOT_OBJECT, Rung.SCHEMA_MISMATCH, Repair.DOUBLE_ENCODED),
        (GOOD + GOOD, "book", Rung.INVALID_JSON, Rung.OK, Repair.SAID_TWICE),
        (GOOD[:-1] + GOOD, "book", Rung.INVALID_JSON, Rung.OK, Repair.SAID_TWICE),
        (GOOD + GOOD, "sink", Rung.INVALID_JSON, Rung.UNKNOWN_TOOL, Repair.SAID_TWICE),
        (GOOD * 3, "book", Rung.INVALID_JSON, Rung.INVALID_JSON, None),
        ("Sure: " + GOOD, "book", Rung.INVALID_JSON, Rung.INVALID_JSON, None),
        ("{'berth': 7}", "book", Rung.INVALID_JSON, Rung.INVALID_JSON, None),
        ('{"berth": NaN}', "book", Rung.INVALID_JSON, Rung.INVALID_JSON, None),
        ('{"berth": Infinity}', "book", Rung.INVALID_JSON, Rung.INVALID_JSON, None),
        (GOOD[:-1], "book", Rung.INVALID_JSON, Rung.INVALID_JSON, None),
        ("{", "sink", Rung.INVALID_JSON, Rung.INVALID_JSON, None),
        ("[1]", "sink", Rung.UNKNOWN_TOOL, Rung.UNKNOWN_TOOL, None),
        (GOOD, "", Rung.UNKNOWN_TOOL, Rung.UNKNOWN_TOOL, None),
        ('{"berth": "7", "vessel": "Petrel"}', "book", Rung.SCHEMA_MISMATCH, Rung.SCHEMA_MISMATCH, None),
    ],
)
def test_a_call_fails_at_its_first_rung(
    text: str, name: str, strict: Rung, lenient: Rung, repair: Repair | None
) -> None:
    climb = climbed(text, name)
    assert (climb.strict.rung, climb.lenient.rung, climb.repair) == (strict, lenient, repair)


@pytest.mark.parametrize(("text", "lenient"), [(GOOD, Rung.OK), ("[]", Rung.NOT_OBJECT), ("{}", Rung.SCHEMA_MISMATCH)])
def test_arguments_that_are_no_string_are_read_leniently(text: str, lenient: Rung) -> None:
    climb = climbed(text, as_string=False)
    assert climb.strict.rung is Rung.ARGS_NOT_STRING
    assert (climb.lenient.rung, climb.repair) == (lenient, Repair.OBJECT_ARGUMENTS)


def test_a_schema_fault_is_kept_with_the_verdict_of_draft_7() -> None:
    reading = climbed('{"berth": "7", "vessel": "Petrel"}').lenient
    assert reading.fault == SchemaFault("/berth", "type", "/berth", 1)
    assert reading.draft7 is False


def test_arguments_nested_too_deeply_are_not_looked_at() -> None:
    reading = climbed('{"berth": ' + "[" * 70 + "]" * 70 + "}").lenient
    assert reading.rung is Rung.SCHEMA_MISMATCH
    assert reading.fault == SchemaFault("", "depth", "", 1)


@pytest.mark.parametrize(
    ("text", "infos"),
    [
        (GOOD, set()),
        ('{"berth": 7.0, "vessel": "Petrel"}', {Info.INT_AS_FLOAT}),
        ('{"berth": 7e0, "berth": 8, "vessel": ""}', {Info.REPEATED_KEYS}),
        ('{"berth": 8, "berth": 7e0, "vessel": ""}', {Info.INT_AS_FLOAT, Info.REPEATED_KEYS}),
    ],
)
def test_what_is_no_fault_is_kept_beside(text: str, infos: set[Info]) -> None:
    reading = climbed(text).strict
    assert reading.rung is Rung.OK
    assert reading.infos == infos


@pytest.mark.parametrize(
    ("text", "together"),
    [
        (GOOD + '{"berth": 8}', True),
        (f"{GOOD}\n{{}} {{}}", True),
        ("{}" * 10_000, True),
        (GOOD, False),
        (GOOD + "[1]", False),
        (GOOD + "{", False),
        ("", False),
    ],
)
def test_objects_that_run_together_are_noticed(text: str, together: bool) -> None:
    assert (Info.RUN_TOGETHER in climbed(text).strict.infos) == together


def test_halves_of_a_surrogate_pair_do_not_stop_the_reading() -> None:
    arguments = climbed('{"berth": 7, "vessel": "\\ud83d"}').strict.arguments
    assert arguments == {"berth": 7, "vessel": "\ufffd"}


def test_faults_of_one_kind_have_one_group_wherever_they_are() -> None:
    third, fourth = (
        SchemaFault("/lines/3/n", "type", "/lines/*/n", 1),
        SchemaFault("/lines/4/n", "type", "/lines/*/n", 2),
    )
    assert group_of("book", third) == group_of("book", fourth)
    assert group_of("cancel", third) != group_of("book", third)
    assert group_of("book", SchemaFault("/lines/3/n", "enum", "/lines/*/n", 1)) != group_of("book", third)


@given(
    st.text()
    | st.sampled_from([GOOD, GOOD + GOOD, json.dumps(GOOD)]).flatmap(
        lambda text: st.integers(0, len(text)).map(lambda cut: text[:cut] + text[cut + 1 :])
    ),
    st.sampled_from(["book", "list", "sink", ""]),
    st.booleans(),
)
@settings(max_examples=50)
def test_a_repair_never_lowers_a_call(text: str, name: str, as_string: bool) -> None:
    climb = climbed(text, name, as_string=as_string)
    assert climb.lenient.rung.height >= climb.strict.rung.height
    assert (climb.repair is None) == (climb.strict is climb.lenient)


@given(st.dictionaries(st.sampled_from(["berth", "vessel", "tide", "x"]), st.integers() | st.text(max_size=3)))
@settings(max_examples=50)
def test_an_object_passes_where_its_schema_accepts_it(value: dict[str, Any]) -> None:
    accepted = (
        {"berth", "vessel"} <= value.keys()
        and isinstance(value["berth"], int)
        and isinstance(value["vessel"], str)
        and "tide" not in value
        and "x" not in value
    )
    assert (climbed(json.dumps(value)).strict.rung is Rung.OK) == accepted
