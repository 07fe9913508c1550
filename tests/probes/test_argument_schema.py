from __future__ import annotations

from typing import Any

import pytest

from probes.wire.argument_schema import MAX_UNIQUE_ITEMS, ArgumentSchema, longest_safe

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
