"""Compares the arguments of a call with what a case expects, value by value."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import islice
from typing import Any

from probes.tools.case import ExpectedCall, Leaf, Match
from probes.tools.exact import exact_text, same
from probes.tools.pointers import MISSING, leaves, resolve, upward
from probes.wire.argument_schema import longest_safe
from probes.wire.json_value import as_fraction, as_number

# Arguments that hold more beside what was expected are no more wrong for it.
MAX_EXTRA = 1_000

_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}(?P<time>[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class LeafMatch:
    """`matched` of the `leaves` that were expected; `extra` values, counted up to `MAX_EXTRA`, were not."""

    matched: int
    leaves: int
    extra: int = 0

    @property
    def exact(self) -> bool:
        return self.matched == self.leaves and self.extra == 0

    @property
    def share(self) -> float:
        """Of all values, expected or there, those that are right; 1 where there are none."""
        total = self.leaves + self.extra
        return self.matched / total if total else 1.0


def compare(expected: ExpectedCall, arguments: Mapping[str, Any]) -> LeafMatch:
    """How many of the expected leaves `arguments` hold, and how many they hold beside them."""
    matched = sum(matches(leaf, resolve(pointer, arguments)) for pointer, leaf in expected.args.items())
    return LeafMatch(matched, len(expected.args), 0 if expected.open else _unexpected(expected, arguments))


def matches(leaf: Leaf, found: object) -> bool:
    """Whether `found` is what `leaf` wants; MISSING stands for a value that is not there."""
    if found is MISSING:
        return leaf.match == "absent_ok"
    return _MATCHERS[leaf.match](leaf, found)


def _unexpected(expected: ExpectedCall, arguments: Mapping[str, Any]) -> int:
    wanted = expected.args.keys()
    # An empty container on the way to an expected place is no value of its own.
    passed = {"", *(place for pointer in wanted for place in upward(pointer))}
    found = (
        pointer
        for pointer, value in leaves(arguments)
        if not (pointer in passed and isinstance(value, dict | list))
        and not any(place in wanted for place in upward(pointer))
    )
    return sum(1 for _ in islice(found, MAX_EXTRA))


def _exact(leaf: Leaf, found: object) -> bool:
    return same(leaf.value, found)


def _ci(leaf: Leaf, found: object) -> bool:
    return isinstance(found, str) and _folded(found) == _folded(leaf.value)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _number(leaf: Leaf, found: object) -> bool:
    number = as_number(found)
    wanted, tolerance = as_fraction(leaf.value), as_fraction(leaf.tolerance)
    got = None if number is None else as_fraction(number)
    return got is not None and wanted is not None and tolerance is not None and abs(got - wanted) <= tolerance


def _date(leaf: Leaf, found: object) -> bool:
    wanted, got = _moment(leaf.value), _moment(found)
    if wanted is None or got is None:
        return False
    if not isinstance(wanted, datetime) and isinstance(got, datetime):
        return got.date() == wanted and got.time() == time()
    # A day is no instant, and an instant without an offset is none of one with it.
    return type(wanted) is type(got) and wanted == got


def _moment(text: object) -> date | datetime | None:
    form = _MOMENT.fullmatch(text) if isinstance(text, str) else None
    if form is None:
        return None
    try:
        return datetime.fromisoformat(form[0].upper()) if form["time"] else date.fromisoformat(form[0])
    except ValueError:
        return None


def _set(leaf: Leaf, found: object) -> bool:
    return isinstance(found, list) and Counter(map(exact_text, found)) == Counter(map(exact_text, leaf.value))


def _regex(leaf: Leaf, found: object) -> bool:
    if not isinstance(found, str) or len(found) > longest_safe(leaf.value):
        return False
    return re.search(leaf.value, found) is not None


def _any_of(leaf: Leaf, found: object) -> bool:
    return any(same(value, found) for value in leaf.value)


_MATCHERS: Mapping[Match, Callable[[Leaf, object], bool]] = {
    "exact": _exact,
    "ci": _ci,
    "number": _number,
    "date": _date,
    "set": _set,
    "regex": _regex,
    "any_of": _any_of,
    "absent_ok": _exact,
}
