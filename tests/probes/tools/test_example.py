from __future__ import annotations

from typing import Any

import pytest

from probes.tools.example import example_of
from probes.wire.argument_schema import ArgumentSchema
from tests.probes.tools.answers import BERTH, NOTHING


@pytest.mark.parametrize(
    "schema",
    [
        BERTH,
        NOTHING,
        {},
        None,
        {"const": [1]},
        {"enum": ["a", "b"]},
        {"type": ["null", "string"]},
        {"type": "string", "minLength": 3},
        {"type": "number", "minimum": 2.5},
        {"type": "array", "minItems": 2, "items": {"type": "boolean"}},
        {"oneOf": [{"type": "string"}, {"type": "null"}], "description": "either"},
        {"type": "object", "properties": {"a": BERTH}, "required": ["a"], "anyOf": [{"required": ["a"]}]},
    ],
)
def test_an_example_passes_its_schema(schema: Any) -> None:
    assert ArgumentSchema(schema).accepts(example_of(schema))


def test_a_schema_without_end_has_an_example_that_ends() -> None:
    endless: dict[str, Any] = {"type": "object", "required": ["a"]}
    endless["properties"] = {"a": endless}
    assert "a" in example_of(endless)
