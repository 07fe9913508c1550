from __future__ import annotations

from typing import Any

import pytest

from probes.wire.argument_schema import (
    DRAFT_7,
    MAX_FAULTS,
    MAX_UNIQUE_ITEMS,
    WRITTEN_INTEGERS,
    ArgumentSchema,
    SchemaFault,
    longest_safe,
)
from probes.wire.json_value import parse_exact_json

CLOSED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@pytest.mark.parametrize("arguments", [{"n": 2}, {"n": 2.0}])
def test_arguments_that_fit_are_accepted(arguments: Any) -> None:
    assert ArgumentSchema(CLOSED).accepts(arguments)


@pytest.mark.parametrize("arguments", [{}, {"n": "2"}, {"n": True}, {"n": 2.5}, {"n": 2, "m": 3}])
def test_arguments_that_do_not_fit_are_rejected(arguments: Any) -> None:
    assert not ArgumentSchema(CLOSED).accepts(arguments)


def test_references_inside_the_schema_are_followed() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "additionalProperties": False}
    schema = ArgumentSchema({"$defs": {"node": node}, "$ref": "#/$defs/node"})
    assert schema.accepts({"next": {"next": {}}})
    assert not schema.accepts({"next": {"last": {}}})


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        {},
        True,
        5,
        {"type": "whole"},
        {"required": "n"},
        {"properties": {"n": {"pattern": "("}}},
        {"$ref": "#"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://schemas.invalid/berth.json"},
        {"$ref": "file:///etc/passwd"},
        {"$id": "http://[", "$ref": "x"},
    ],
)
def test_a_schema_that_cannot_judge_rejects_nothing(parameters: Any) -> None:
    assert ArgumentSchema(parameters).accepts({"n": "(", "m": [1]})


def test_a_schema_nested_without_end_rejects_nothing() -> None:
    schema: dict[str, Any] = {}
    for _ in range(2_000):
        schema = {"properties": {"n": schema}}
    assert ArgumentSchema(schema).accepts({})


def test_a_pattern_is_held_against_strings() -> None:
    schema = ArgumentSchema({"properties": {"id": {"pattern": "^[A-Z]{2}-[0-9]+$"}}})
    assert schema.accepts({"id": "FY-17"})
    assert not schema.accepts({"id": "fowey"})
    assert schema.accepts({"id": 5})


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^((a+)b?)*$", r"^(a*)\1*$", "(a*)*"])
def test_a_pattern_that_can_take_for_ever_is_tried_on_short_strings_only(pattern: str) -> None:
    schema = ArgumentSchema({"properties": {"id": {"pattern": pattern}}})
    assert longest_safe(pattern) == 12
    assert schema.accepts({"id": "a" * 5_000 + "!"})


def test_a_pattern_that_can_take_for_ever_still_judges_short_strings() -> None:
    assert not ArgumentSchema({"properties": {"id": {"pattern": "^(a+)+$"}}}).accepts({"id": "aab"})


def test_names_matched_by_such_a_pattern_are_not_judged() -> None:
    assert ArgumentSchema({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}).accepts({"a!" * 40: 1})


@pytest.mark.parametrize(("pattern", "length"), [("^[a-z]+$", 10**8), ("[a-z]+", 10**4), (r"^\w+@\w+\.\w+$", 464)])
def test_the_more_repetitions_the_shorter_the_string(pattern: str, length: int) -> None:
    assert longest_safe(pattern) == pytest.approx(length, abs=1)


def test_items_are_unique_as_far_as_that_can_be_told_in_time() -> None:
    schema = ArgumentSchema({"type": "array", "uniqueItems": True})
    assert not schema.accepts([{"a": 1}, {"a": 1}])
    assert schema.accepts([{"a": 1}] * (MAX_UNIQUE_ITEMS + 1))


@pytest.mark.parametrize(
    ("value", "is_multiple"), [(0.3, True), (0.35, False), (10**400, True), (1e308, True), (float("inf"), False)]
)
def test_multiples_are_told_by_the_digits(value: Any, is_multiple: bool) -> None:
    assert ArgumentSchema({"multipleOf": 0.1}).accepts(value) is is_multiple


@pytest.mark.parametrize("text", ["1e999", "-1e999", "1" + "0" * 4_000 + ".5", "1e-999"])
def test_numbers_no_float_can_hold_are_judged_without_an_error(text: str) -> None:
    for keyword in ("multipleOf", "minimum", "exclusiveMaximum", "const"):
        for limit in (0.5, 10**400):
            ArgumentSchema({keyword: limit}).accepts(parse_exact_json(text))


def test_the_first_fault_has_its_place_and_keyword() -> None:
    line = {"type": "object", "properties": {"a/b": {"type": "integer"}}, "required": ["a/b"]}
    schema = ArgumentSchema({"properties": {"lines": {"type": "array", "items": line}}})
    fault = schema.fault({"lines": [{"a/b": 1}, {"a/b": "1"}, {}]})
    assert fault == SchemaFault("/lines/1/a~1b", "type", "/lines/*/a~1b", 2)
    assert schema.fault({"lines": []}) is None


def test_faults_are_counted_up_to_a_limit() -> None:
    fault = ArgumentSchema({"items": {"type": "integer"}}).fault(["x"] * 5_000)
    assert fault is not None
    assert fault.count == MAX_FAULTS


def test_a_schema_that_is_false_has_a_keyword_of_its_own() -> None:
    fault = ArgumentSchema({"properties": {"n": False}}).fault({"n": 1})
    assert fault == SchemaFault("", "false", "", 1)


def test_draft_7_reads_the_same_schema_otherwise() -> None:
    schema = {"type": "array", "items": [{"type": "integer"}], "additionalItems": False}
    assert not ArgumentSchema(schema, dialect=DRAFT_7).accepts([1, 2])
    assert not ArgumentSchema({"type": "array", "prefixItems": [{"type": "integer"}]}).accepts(["x"])
    assert ArgumentSchema({"type": "array", "prefixItems": [{"type": "integer"}]}, dialect=DRAFT_7).accepts(["x"])


@pytest.mark.parametrize(("text", "is_written"), [("2", True), ("2.0", False), ("2e0", False), ("-0", False)])
def test_an_integer_written_as_another_number_is_told_apart(text: str, is_written: bool) -> None:
    value = parse_exact_json(text)
    assert ArgumentSchema({"type": "integer"}).accepts(value)
    assert ArgumentSchema({"type": "integer"}, dialect=WRITTEN_INTEGERS).accepts(value) is is_written


@pytest.mark.parametrize(("schema", "judges"), [(CLOSED, True), ({}, True), ({"type": "whole"}, False)])
def test_a_schema_says_whether_it_can_judge(schema: Any, judges: bool) -> None:
    assert ArgumentSchema(schema).judges is judges
