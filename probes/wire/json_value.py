"""Untrusted JSON: parsing that never raises anything but ValueError, and typed looks at values of any shape."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

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


class WrittenFloat(float):
    """A number that came with a fraction, an exponent or a negative zero, with the text it was written in."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


class RepeatedKeys(dict[str, Any]):
    """An object whose text says a key more than once; the last one counts, as with most parsers."""


def parse_exact_json(text: str) -> Any:
    """The value of `text`, nothing of it lost: numbers that are not plain integers are `WrittenFloat`s, objects that
    say a key twice are `RepeatedKeys`. Raises ValueError as `parse_strict_json` does."""
    return _parse(text, _EXACT)


def _parse(text: str, decoder: json.JSONDecoder) -> Any:
    if nesting_of(text) > MAX_NESTING:
        raise ValueError("nested too deeply")
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _integer(text: str) -> int | WrittenFloat:
    return WrittenFloat(text) if text == "-0" else int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    return value if len(value) == len(pairs) else RepeatedKeys(value)


# Made once: making one takes as long as reading a short answer.
_LENIENT = json.JSONDecoder(parse_constant=float)
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)
_EXACT = json.JSONDecoder(
    parse_float=WrittenFloat, parse_int=_integer, parse_constant=_refuse_constant, object_pairs_hook=_object
)


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


def as_fraction(number: int | float) -> Fraction | None:
    """`number` as exactly as a float holds it, by its decimal digits: 0.1 is a tenth. None beyond a float's range."""
    if isinstance(number, int):
        return Fraction(number)
    return Fraction(float.__repr__(number)) if math.isfinite(number) else None


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
