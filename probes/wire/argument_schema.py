"""Judges a call's arguments by its tool's JSON Schema (draft 2020-12), guarded against both of them.

Nothing is fetched: a `$ref` that leaves the schema cannot be judged. Arguments come from a model and may be hostile, so
a pattern is tried only on strings that it cannot take long for, and `uniqueItems` only on short arrays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from jsonschema import Draft7Validator, Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, UnknownType, ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from probes.wire.json_value import as_fraction

MAX_UNIQUE_ITEMS = 1_000
# Arguments that fail by more say nothing new.
MAX_FAULTS = 100
# A model can make up names of any length.
MAX_POINTER = 256

# A pattern may take about this many steps; a second of Python's matcher.
_STEPS = 10**8
# 3**12 steps: what groups that repeat inside repeated groups may take.
_EXPONENTIAL_LENGTH = 12

_UNBOUNDED = re.compile(r"(?<!\\)(?:[*+]|\{\d+,\})")
_REPEATED_GROUP = re.compile(r"(?<!\\)\)(?:[*+]|\{\d+,\})")
_BACKREFERENCE = re.compile(r"\\[1-9]|\(\?P=")

# What a schema that passed its own check can still raise while it judges; ValueError: an `$id` that is no URL.
_UNJUDGEABLE = (SchemaError, UnknownType, Unresolvable, RecursionError, re.error, ValueError)


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """The first thing that arguments fail by: a JSON pointer into them, and the keyword of the schema that rejects what
    is there. `kind` is the pointer with `*` for every index, both cut to `MAX_POINTER` characters; `count` is how many
    faults there are, `MAX_FAULTS` at most."""

    pointer: str
    keyword: str
    kind: str
    count: int


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "string") or len(instance) > longest_safe(pattern):
        return
    if not re.search(pattern, instance):
        yield ValidationError("does not match the pattern")


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "array") and len(instance) <= MAX_UNIQUE_ITEMS:
        yield from Draft202012Validator.VALIDATORS["uniqueItems"](validator, wanted, instance, schema) or ()


def _multiple_of(validator: Any, divisor: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """By the digits that are written: 0.3 is a multiple of 0.1. What no float can hold is a multiple of nothing."""
    whole = as_fraction(divisor)
    if not validator.is_type(instance, "number") or whole is None:
        return
    number = as_fraction(instance)
    if number is None or number % whole:
        yield ValidationError("is no multiple")


def _is_written_integer(_checker: Any, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_GUARDS = {"pattern": _pattern, "uniqueItems": _unique_items, "multipleOf": _multiple_of}

DRAFT_2020_12: Any = extend(Draft202012Validator, _GUARDS)  # type: ignore[no-untyped-call]
DRAFT_7: Any = extend(Draft7Validator, _GUARDS)  # type: ignore[no-untyped-call]
# As 2020-12, but 2.0 is no integer.
WRITTEN_INTEGERS: Any = extend(  # type: ignore[no-untyped-call]
    DRAFT_2020_12, type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_written_integer)
)


class ArgumentSchema:
    """The `parameters` of a declared tool; None stands for no demands at all.

    `dialect` is one of DRAFT_2020_12, DRAFT_7 and WRITTEN_INTEGERS; `formats` says which formats are asserted.
    """

    def __init__(
        self, parameters: object, *, dialect: Any = DRAFT_2020_12, formats: FormatChecker | None = None
    ) -> None:
        self.parameters: Any = {} if parameters is None else parameters
        self._dialect = dialect
        self._formats = formats

    @property
    def judges(self) -> bool:
        """Whether it can reject anything; a schema that is itself invalid cannot."""
        return self._validator is not None

    def accepts(self, arguments: object) -> bool:
        """Whether `arguments` pass. A schema that is itself invalid or refers elsewhere rejects nothing."""
        try:
            return self._validator is None or next(self._validator.iter_errors(arguments), None) is None
        except _UNJUDGEABLE:
            return True

    def fault(self, arguments: object) -> SchemaFault | None:
        """What `arguments` fail by, None where they pass as by `accepts`."""
        try:
            errors = [] if self._validator is None else list(islice(self._validator.iter_errors(arguments), MAX_FAULTS))
        except _UNJUDGEABLE:
            return None
        return _fault(errors) if errors else None

    @cached_property
    def _validator(self) -> Any:
        try:
            if not _may_judge(json.dumps(self.parameters, default=repr), self._dialect):
                return None
            return self._dialect(self.parameters, registry=Registry(), format_checker=self._formats)
        except _UNJUDGEABLE:
            return None


@lru_cache(maxsize=1_024)
def _may_judge(parameters: str, dialect: Any) -> bool:
    """Whether a schema is one, and safe to try. That takes longer than to judge by it, and requests declare the same
    tools again and again."""
    try:
        schema = json.loads(parameters)
        dialect.check_schema(schema)
        return not _names_by_hazardous_pattern(schema)
    except _UNJUDGEABLE:
        return False


def _fault(errors: list[ValidationError]) -> SchemaFault:
    path = list(errors[0].absolute_path)
    kind = ["*" if isinstance(step, int) else _escaped(step) for step in path]
    return SchemaFault(
        pointer="".join(f"/{_escaped(step)}" for step in path)[:MAX_POINTER],
        # A schema that is `false` rejects without a keyword.
        keyword=str(errors[0].validator or "false"),
        kind="".join(f"/{step}" for step in kind)[:MAX_POINTER],
        count=len(errors),
    )


def _escaped(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")


def longest_safe(pattern: str) -> int:
    """The length of text up to which searching for `pattern` ends within about a second."""
    unbounded = len(_UNBOUNDED.findall(pattern))
    if _BACKREFERENCE.search(pattern) or (_REPEATED_GROUP.search(pattern) and (unbounded > 1 or "|" in pattern)):
        return _EXPONENTIAL_LENGTH
    degree = unbounded + (0 if pattern.startswith("^") else 1)
    return int(_STEPS ** (1 / max(degree, 1)))


def is_hazardous(pattern: str) -> bool:
    """Whether searching for `pattern` can take for ever on text of no great length."""
    return longest_safe(pattern) <= _EXPONENTIAL_LENGTH


def _names_by_hazardous_pattern(schema: object) -> bool:
    """Whether the schema matches property names, which can be of any length, by a pattern that can take for ever."""
    if isinstance(schema, list):
        return any(map(_names_by_hazardous_pattern, schema))
    if not isinstance(schema, dict):
        return False
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict) and any(map(is_hazardous, patterns)):
        return True
    return any(map(_names_by_hazardous_pattern, schema.values()))
