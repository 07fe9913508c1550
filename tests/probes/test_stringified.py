from __future__ import annotations

from typing import Any

import pytest

from probes.wire.stringified import Came, non_string_values

PROPER, AS_STRING, NESTED = Came.SCALAR_PROPER, Came.SCALAR_AS_STRING, Came.NESTED_AS_STRING


@pytest.mark.parametrize(
    ("schema", "value", "came"),
    [
        ({"type": "integer"}, 2, [PROPER]),
        ({"type": "integer"}, "2", [AS_STRING]),
        ({"type": "integer"}, "two", [PROPER]),
        ({"type": "boolean"}, "True", [AS_STRING]),
        ({"type": ["number", "null"]}, "null", [AS_STRING]),
        ({"type": ["number", "string"]}, "2", []),
        ({"type": "string"}, "2", []),
        ({}, "2", []),
        ({}, 2, [PROPER]),
        ({"enum": [1, 2]}, "2", [AS_STRING]),
        ({"const": True}, "true", [AS_STRING]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "2", [AS_STRING]),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "2", []),
        ({"type": "array"}, '["a"]', [NESTED]),
        ({"type": "array"}, "a", []),
        ({"type": ["object", "null"]}, "{}", [NESTED]),
        ({"type": ["array", "string"]}, "[]", []),
    ],
)
def test_a_value_came_as(schema: Any, value: Any, came: list[Came]) -> None:
    assert list(non_string_values(schema, value)) == came


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"a": {"properties": {"b": {"type": "integer"}}}}}, {"a": {"b": "2"}}),
        ({"additionalProperties": {"type": "integer"}}, {"a": "2"}),
        ({"items": {"type": "integer"}}, ["2"]),
        ({"prefixItems": [{"type": "integer"}]}, ["2"]),
        ({"$defs": {"a/b": {"type": "integer"}}, "items": {"$ref": "#/$defs/a~1b"}}, ["2"]),
        ({"allOf": [{"properties": {"a": {"type": "integer"}}}]}, {"a": "2"}),
    ],
)
def test_values_inside_are_found(schema: Any, value: Any) -> None:
    assert list(non_string_values(schema, value)) == [AS_STRING]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#/anyOf/0"}], "items": {"$ref": "#"}},
        {"$ref": "https://schemas.invalid/x"},
        {"properties": [], "items": 3, "anyOf": {"a": 1}, "type": {}},
        None,
    ],
)
def test_a_schema_that_turns_in_circles_or_makes_no_sense_wants_nothing(schema: Any) -> None:
    assert list(non_string_values(schema, [["2"], "x"])) == []
