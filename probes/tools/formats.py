"""The JSON Schema formats that a case can have asserted."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from ipaddress import IPv4Address, IPv6Address
from uuid import UUID

from jsonschema import FormatChecker

_TIME = r"\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})"
_DATE = r"\d{4}-\d{2}-\d{2}"
_SHAPES = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}[Tt]{_TIME}",
    "email": r"[^@\s]{1,64}@[^@\s]{1,255}",
    "uri": r"[A-Za-z][A-Za-z0-9+.\-]*:\S*",
    "uuid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "ipv4": r"[0-9.]{7,15}",
    "ipv6": r"[0-9A-Fa-f:.]{2,45}",
}
_READ: dict[str, Callable[[str], object]] = {
    "date": date.fromisoformat,
    "time": lambda text: datetime.fromisoformat(f"2000-01-01T{text}".upper()),
    "date-time": lambda text: datetime.fromisoformat(text.upper()),
    "uuid": UUID,
    "ipv4": IPv4Address,
    "ipv6": IPv6Address,
}

FORMATS = frozenset(_SHAPES)


def _checker() -> FormatChecker:
    checker = FormatChecker(formats=())
    for name, shape in _SHAPES.items():
        checker.checks(name)(_check(re.compile(shape, re.ASCII), _READ.get(name)))
    return checker


def _check(shape: re.Pattern[str], read: Callable[[str], object] | None) -> Callable[[object], bool]:
    def fits(value: object) -> bool:
        if not isinstance(value, str):
            return True
        if shape.fullmatch(value) is None:
            return False
        try:
            return read is None or read(value) is not None
        except ValueError:
            return False

    return fits


CHECKER = _checker()
