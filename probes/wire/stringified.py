"""Finds values that came as strings where a tool's schema wants something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any

from probes.wire.json_value import as_object, as_objects, parse_strict_json

_NESTED = frozenset({"array", "object"})
_SCALARS = frozenset({"integer", "number", "boolean", "null"})
# What Python's str() makes of the three constants, as template-driven tool parsers do.
_PYTHON_CONSTANTS = {"True": True, "False": False, "None": None}
_MAX_DEPTH = 64


class Came(Enum):
    """How a value came whose schema does not allow a string."""

    SCALAR_PROPER = auto()
    SCALAR_AS_STRING = auto()
    NESTED_AS_STRING = auto()


def non_string_values(schema: object, value: object) -> Iterator[Came]:
    """One finding for each scalar that the schema wants as other than a string, and for each array or object that is a
    string instead."""
    yield from _walk(schema, value, as_object(schema), _MAX_DEPTH)


def _walk(schema: object, value: object, root: Mapping[str, Any], depth: int) -> Iterator[Came]:
    if depth == 0:
        return
    branches = list(_branches(schema, root, set()))
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _walk(_property(branches, name), item, root, depth - 1)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _walk(_item(branches, position), item, root, depth - 1)
    else:
        yield from _judge(_types(branches), value)


def _judge(wanted: frozenset[str], value: object) -> Iterator[Came]:
    if not isinstance(value, str):
        yield Came.SCALAR_PROPER
        return
    if not wanted or "string" in wanted:
        return
    try:
        decoded = _PYTHON_CONSTANTS[value] if value in _PYTHON_CONSTANTS else parse_strict_json(value)
    except ValueError:
        decoded = value
    if isinstance(decoded, list | dict):
        if wanted & _NESTED:
            yield Came.NESTED_AS_STRING
    elif wanted & _SCALARS:
        yield Came.SCALAR_PROPER if isinstance(decoded, str) else Came.SCALAR_AS_STRING


def _branches(schema: object, root: Mapping[str, Any], seen: set[int]) -> Iterator[Mapping[str, Any]]:
    """The schema and all it is put together from: references inside it and the arms of anyOf, oneOf and allOf."""
    if not isinstance(schema, dict) or id(schema) in seen:
        return
    seen.add(id(schema))
    yield schema
    yield from _branches(_referred(schema.get("$ref"), root), root, seen)
    for keyword in ("anyOf", "oneOf", "allOf"):
        for arm in as_objects(schema.get(keyword)):
            yield from _branches(arm, root, seen)


def _referred(reference: object, root: Mapping[str, Any]) -> object:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: object = root
    for step in reference.removeprefix("#").split("/")[1:]:
        found = as_object(found).get(step.replace("~1", "/").replace("~0", "~"))
    return found


def _types(branches: list[Mapping[str, Any]]) -> frozenset[str]:
    named: set[str] = set()
    for branch in branches:
        declared = branch.get("type")
        named.update(kind for kind in (declared if isinstance(declared, list) else [declared]) if isinstance(kind, str))
        values = branch.get("enum") if isinstance(branch.get("enum"), list) else []
        if declared is None:
            named.update(
                _type_of(item) for item in [*(values or ()), *([branch["const"]] if "const" in branch else [])]
            )
    return frozenset(named)


def _type_of(value: object) -> str:
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "number"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def _property(branches: list[Mapping[str, Any]], name: str) -> object:
    for branch in branches:
        if name in as_object(branch.get("properties")):
            return branch["properties"][name]
    return next((branch["additionalProperties"] for branch in branches if "additionalProperties" in branch), None)


def _item(branches: list[Mapping[str, Any]], position: int) -> object:
    for branch in branches:
        leading = branch.get("prefixItems")
        if isinstance(leading, list) and position < len(leading):
            return leading[position]
        if "items" in branch:
            return branch["items"]
    return None
