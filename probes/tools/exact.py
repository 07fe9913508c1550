"""JSON values compared by what is written of them: 2 is 2.0, but 2**53 + 1 is not 2**53, -0 is not 0, "2" is not 2."""

from __future__ import annotations

import hashlib
import re
from json.encoder import encode_basestring
from typing import Any

from probes.wire.json_value import WrittenFloat

_CONSTANTS = {None: "null", True: "true", False: "false"}
_NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?", re.IGNORECASE | re.ASCII)
# An exponent of more digits stands as it is written: nobody means it.
_EXPONENT_DIGITS = 20


def exact_text(value: Any) -> str:
    """One text for all writings of a value: equal values have equal texts, and others have not."""
    if isinstance(value, dict):
        members = (f"{encode_basestring(key)}:{exact_text(item)}" for key, item in sorted(value.items()))
        return f"{{{','.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(exact_text, value))}]"
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    return _number(written(value))


def exact_hash(value: Any) -> str:
    """sha256 of the exact text."""
    return hashlib.sha256(exact_text(value).encode("utf-8", "surrogatepass")).hexdigest()


def same(left: Any, right: Any) -> bool:
    return exact_text(left) == exact_text(right)


def written(number: int | float) -> str:
    """A number as it came, or as JSON writes it."""
    return number.text if isinstance(number, WrittenFloat) else repr(number)


def _number(text: str) -> str:
    found = _NUMBER.fullmatch(text)
    if found is None or len(found.group(4) or "") > _EXPONENT_DIGITS:
        return text
    sign, whole, fraction, exponent = found.groups(default="")
    digits = (whole + fraction).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return f"{sign}0"
    power = int(exponent or "0") - len(fraction) + len(digits) - len(significant)
    return f"{sign}{significant}e{power}"
