"""Judges a call's arguments by its tool's JSON Schema (draft 2020-12), guarded against both of them.

Nothing is fetched: a `$ref` that leaves the schema cannot be judged. Arguments come from a model and may be hostile, so
a pattern is tried only on strings that it cannot take long for, and `uniqueItems` only on short arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, UnknownType, ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

MAX_UNIQUE_ITEMS = 1_000

# A pattern may take about this many steps; a second of Python's matcher.
_STEPS = 10**8
# 3**12 steps: what groups that repeat inside repeated groups may take.
_EXPONENTIAL_LENGTH = 12

_UNBOUNDED = re.compile(r"(?<!\\)(?:[*+]|\{\d+,\})")
_REPEATED_GROUP = re.compile(r"(?<!\\)\)(?:[*+]|\{\d+,\})")
_BACKREFERENCE = re.compile(r"\\[1-9]|\(\?P=")

# What a schema that passed its own check can still raise while it judges.
_UNJUDGEABLE = (SchemaError, UnknownType, Unresolvable, RecursionError, re.error)


class ArgumentSchema:
    """The `parameters` of a declared tool; None stands for no demands at all."""

    def __init__(self, parameters: object) -> None:
        self.parameters: Any = {} if parameters is None else parameters

    def accepts(self, arguments: object) -> bool:
        """Whether `arguments` pass. A schema that is itself invalid or refers elsewhere rejects nothing."""
        try:
            return self._validator is None or next(self._validator.iter_errors(arguments), None) is None
        except _UNJUDGEABLE:
            return True

    @cached_property
    def _validator(self) -> Any:
        try:
            Draft202012Validator.check_schema(self.parameters)
            hazardous = _names_by_hazardous_pattern(self.parameters)
        except _UNJUDGEABLE:
            return None
        return None if hazardous else _Guarded(self.parameters, registry=Registry())


def longest_safe(pattern: str) -> int:
    """The length of text up to which searching for `pattern` ends within about a second."""
    unbounded = len(_UNBOUNDED.findall(pattern))
    if _BACKREFERENCE.search(pattern) or (_REPEATED_GROUP.search(pattern) and (unbounded > 1 or "|" in pattern)):
        return _EXPONENTIAL_LENGTH
    degree = unbounded + (0 if pattern.startswith("^") else 1)
    return int(_STEPS ** (1 / max(degree, 1)))


def _names_by_hazardous_pattern(schema: object) -> bool:
    """Whether the schema matches property names, which can be of any length, by a pattern that can take for ever."""
    if isinstance(schema, list):
        return any(map(_names_by_hazardous_pattern, schema))
    if not isinstance(schema, dict):
        return False
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict) and any(longest_safe(pattern) <= _EXPONENTIAL_LENGTH for pattern in patterns):
        return True
    return any(map(_names_by_hazardous_pattern, schema.values()))


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "string") or len(instance) > longest_safe(pattern):
        return
    if not re.search(pattern, instance):
        yield ValidationError("does not match the pattern")


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "array") and len(instance) <= MAX_UNIQUE_ITEMS:
        yield from Draft202012Validator.VALIDATORS["uniqueItems"](validator, wanted, instance, schema) or ()


_Guarded = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"pattern": _pattern, "uniqueItems": _unique_items}
)
