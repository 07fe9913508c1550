"""Grades the number that an answer comes to."""

from __future__ import annotations

import re
from decimal import Context, Decimal, DecimalException
from typing import Any

from probes.evals.grade import Grade, Reason, right_if, ungradable, wrong

_NUMBER = re.compile(
    r"(?<![\w.])[-+−]?(?:\d{1,3}(?:,\d{3}){1,30}(?!\d)|\d{1,100})?(?:\.\d{1,100})?(?<=\d)(?:[eE][-+]?\d{1,4})?"
    r"(?:\s?/\s?[-−]?\d{1,100}(?![\d.]))?"
)
_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
# Where GSM8K's answers stand.
_MARK = "####"
_CONTEXT = Context(prec=110)


def grade_number(answer: str, expected: Any, *, tolerance: float = 0.0, relative: float = 0.0) -> Grade:
    """Right within `tolerance`, or within `relative` times what is expected: the wider counts."""
    wanted = as_decimal(expected)
    if wanted is None:
        return ungradable(Reason.NO_EXPECTED)
    given = final_number(answer)
    if given is None:
        return wrong(Reason.NOTHING_FOUND)
    try:
        allowed = max(Decimal(str(tolerance)), _CONTEXT.multiply(abs(wanted), Decimal(str(relative))))
        return right_if(abs(_CONTEXT.subtract(given, wanted)) <= allowed)
    except DecimalException:
        return wrong()


def final_number(answer: str) -> Decimal | None:
    """The number after the last ####, in the last \\boxed{}, or else the last one of all."""
    part = answer.rpartition(_MARK)[2] if _MARK in answer else answer
    boxed = _BOXED.findall(part)
    found = _NUMBER.findall(boxed[-1] if boxed else part)
    return _read(found[0] if _MARK in answer and not boxed else found[-1]) if found else None


def as_decimal(value: Any) -> Decimal | None:
    """A number, or a text that holds nothing but one (GSM8K's mark and what comes before it aside)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).rpartition(_MARK)[2].strip().strip("$€£").rstrip("%")
    return _read(text) if _NUMBER.fullmatch(text) else None


def _read(text: str) -> Decimal | None:
    plain = text.replace(",", "").replace("−", "-").replace(" ", "")
    upper, _, lower = plain.partition("/")
    try:
        number = _CONTEXT.create_decimal(upper)
        number = _CONTEXT.divide(number, _CONTEXT.create_decimal(lower)) if lower else number
    except DecimalException:
        return None
    return number if number.is_finite() else None
