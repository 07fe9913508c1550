"""Untrusted JSON: parsing that never raises anything but ValueError, and typed looks at values of any shape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# A lawful answer is some ten levels deep; beyond this nothing is read.
MAX_NESTING = 128

_BRACKET_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)


def parse_json(text: str) -> Any:
    """The value of `text`. NaN and infinities pass, so that one bad number does not cost the whole answer.

    Raises ValueError: not JSON, nested deeper than `MAX_NESTING`, an integer too long to convert.
    """
    return _parse(text, _LENIENT)


def parse_strict_json(text: str) -> Any:
    """The value of `text` by RFC 8259: NaN and infinities are refused. Raises ValueError as `parse_json` does."""
    return _parse(text, _STRICT)


def _parse(text: str, decoder: json.JSONDecoder) -> Any:
    if nesting_of(text) > MAX_NESTING:
        raise ValueError("nested too deeply")
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


# Made once: making one takes as long as reading a short answer.
_LENIENT = json.JSONDecoder(parse_constant=float)
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)


def nesting_of(text: str) -> int:
    """How deeply the arrays and objects of `text` are nested: 0 below half of `MAX_NESTING`, and no more than one above
    it, since nobody needs to know."""
    if text.count("[") + text.count("{") <= MAX_NESTING // 2:
        return 0
    depth = deepest = 0
    for found in _BRACKET_OR_STRING.finditer(text):
        mark = found.group()
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > MAX_NESTING:
                break
        elif mark in "]}":
            depth -= 1
    return deepest


def as_object(value: object) -> Mapping[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_objects(value: object) -> Sequence[Mapping[str, Any]]:
    """The objects of a list; of anything else, none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_text(value: object) -> str:
    """`value` where it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_integer(value: object) -> int | None:
    """`value` where it is a whole number (booleans are not), else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None


def as_number(value: object) -> int | float | None:
    """`value` where it is a number (booleans are not), else None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def strings_in(value: object) -> Iterator[str]:
    """Every string value inside `value`; the keys of objects are not values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)


def equal_json(left: object, right: object) -> bool:
    """Equality of JSON values: 2 equals 2.0, but true is not 1 and "2" is not 2."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal_json(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal_json, left, right))
    return left == right
