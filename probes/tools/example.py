"""A value that a schema accepts, for schemas as probes use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.wire.json_value import as_number, as_object, as_objects

_LIMIT = 16


def example_of(schema: Any, depth: int = _LIMIT) -> Any:
    """The plainest value there is; of an involved schema not always one that it accepts."""
    rules = as_object(schema)
    if depth == 0 or not rules:
        return {}
    if "const" in rules:
        return rules["const"]
    if rules.get("enum"):
        return rules["enum"][0]
    arms = [*as_objects(rules.get("oneOf")), *as_objects(rules.get("anyOf"))]
    if arms:
        return example_of({**arms[0], **{key: rules[key] for key in rules.keys() - {"oneOf", "anyOf"}}}, depth - 1)
    kind = rules.get("type")
    return _of_type(kind[0] if isinstance(kind, list) and kind else kind, rules, depth)


def _of_type(kind: Any, rules: Mapping[str, Any], depth: int) -> Any:
    match kind:
        case "array":
            least = rules.get("minItems", 0)
            return [example_of(rules.get("items"), depth - 1) for _ in range(min(least, _LIMIT))]
        case "string":
            return "x" * min(rules.get("minLength", 1), 1_000)
        case "integer" | "number":
            return as_number(rules.get("minimum")) or 0
        case "boolean":
            return True
        case "null":
            return None
        case _:
            properties = as_object(rules.get("properties"))
            return {name: example_of(properties.get(name), depth - 1) for name in rules.get("required", ())}
