"""JSON schemas as requests bring them: refused, by name, where they are broken, hostile or point elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import FormatChecker
from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator, validator_for

from reference_engine.errors import EngineRequestError

MAX_BYTES = 65_536
MAX_DEPTH = 64
_REMEDY = "Correct the JSON schema."
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Schemas stand under these by names of the schema's own; under the next, data of any form.
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("const", "enum", "default", "examples")


def checked_schema(schema: Any) -> dict[str, Any]:
    """A copy of the schema in plain JSON values. Raises EngineRequestError."""
    if not isinstance(schema, Mapping):
        raise EngineRequestError("A JSON schema is an object.", remedy=_REMEDY)
    for place, part in _parts(schema):
        _check_references(place, part)
    plain: dict[str, Any] = json.loads(_written(schema))
    _check_against_its_draft(plain)
    return plain


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every schema in the schema, with its place. Raises EngineRequestError for too deep a one."""
    pending = [_Part("#", 1, schema, holds_names=False)]
    while pending:
        part = pending.pop()
        if part.depth > MAX_DEPTH:
            raise EngineRequestError(
                f"The JSON schema is nested deeper than {MAX_DEPTH}.", remedy="Use $defs and $ref to make it flatter."
            )
        if isinstance(part.value, Mapping) and not part.holds_names:
            yield part.place, part.value
        pending += part.inner()


@dataclass(frozen=True, slots=True)
class _Part:
    """`holds_names`: its keys are names of the schema's own, and no keywords."""

    place: str
    depth: int
    value: Any
    holds_names: bool

    def inner(self) -> Iterator[_Part]:
        if isinstance(self.value, Mapping):
            for key, value in self.value.items():
                if self.holds_names or key not in _DATA:
                    yield self._at(key, value, holds_names=not self.holds_names and key in _NAMED)
        elif isinstance(self.value, (list, tuple)):
            for index, value in enumerate(self.value):
                yield self._at(index, value, holds_names=False)

    def _at(self, key: object, value: Any, *, holds_names: bool) -> _Part:
        return _Part(f"{self.place}/{key}", self.depth + 1, value, holds_names)


def _check_references(place: str, part: Mapping[str, Any]) -> None:
    for keyword in _REFERENCES:
        target = part.get(keyword)
        if isinstance(target, str) and not target.startswith("#"):
            raise EngineRequestError(
                f"The JSON schema refers to another document, {target[:200]!r} at {place}.",
                remedy="Put what it refers to under $defs, and refer to it by #/$defs/….",
            )


def _written(schema: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(schema, allow_nan=False, default=_mapping)
    except (TypeError, ValueError, RecursionError) as error:
        raise EngineRequestError(f"The JSON schema is not JSON: {error}.", remedy=_REMEDY) from error
    if len(text) > MAX_BYTES:
        raise EngineRequestError(
            f"The JSON schema has {len(text)} bytes; {MAX_BYTES} are allowed.", remedy="Make it smaller."
        )
    return text


def _mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it holds a {type(value).__name__}")


def _check_against_its_draft(schema: dict[str, Any]) -> None:
    """Patterns are left to the grammar library: Python's own are of another dialect."""
    if not isinstance(schema.get("$schema", ""), str):
        raise EngineRequestError("The JSON schema is wrong at #/$schema: it is no text.", remedy=_REMEDY)
    draft: Any = validator_for(schema, default=Draft202012Validator)
    try:
        draft.check_schema(schema, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        place = "/".join(("#", *map(str, error.absolute_path)))
        raise EngineRequestError(
            f"The JSON schema is wrong at {place}: {error.message[:200]}.", remedy=_REMEDY
        ) from error
