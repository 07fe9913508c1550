"""What a check measured, as columns: what it is now and what it was are one quantity, how far it moved another."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.render.latency import seconds_text
from monitor.render.wording import number, p_text, percent, with_interval, with_unit
from monitor.standing import STREAMS
from monitor.verdict import Check

RATE = "rate"
# Evidence of less is told with its decimals.
_WHOLE_FROM = 100.0


@dataclass(frozen=True, slots=True)
class Measures:
    """`now` and `before` are levels of the same quantity, empty where a check knows none; `moved` is told as such, with
    its interval. Against the reference, `before` is what that has, and `moved` how far the endpoint is from it."""

    now: str = ""
    before: str = ""
    moved: str = ""


def measures(check: Check) -> Measures:
    value, before = check.value, check.baseline
    if value is None:
        return Measures()
    if check.probe == "latency":
        return Measures(now=seconds_text(value, check.interval))
    if check.probe == STREAMS:
        return Measures(now=f"E {value:,.3g}" if value < _WHOLE_FROM else f"E {value:,.0f}")
    if check.probe == "accounting":
        return Measures(tokens(value)) if before is None else _counted(value, before)
    moved = _moved(check, value)
    if check.unit != RATE or before is None:
        return Measures(moved=moved)
    # The move is the difference of the two levels, over the cases that both sides have.
    return Measures(percent(min(1.0, max(0.0, before + value))), percent(before), moved)


def _counted(now: float, before: float) -> Measures:
    return Measures(tokens(now), tokens(before), tokens(now - before))


def _moved(check: Check, value: float) -> str:
    if check.unit == "changes":
        return f"{value:.0f} {'change' if value == 1 else 'changes'}"
    if check.unit == "token":
        spread = check.interval if check.interval is not None and check.interval[0] != check.interval[1] else None
        return with_interval(tokens(value), spread, "token", signed=True)
    signed = check.unit == RATE
    return with_interval(with_unit(value, check.unit, signed=signed), check.interval, check.unit, signed=signed)


def tokens(value: float) -> str:
    return f"{number(value, 'token', signed=True)} {'token' if abs(round(value)) == 1 else 'tokens'}"


def certainty(check: Check) -> list[str]:
    """How sure it is, of how much, and what it would have seen."""
    words = [] if check.p is None else [f"p {p_text(check.p)}"]
    words.append(f"n {check.n}")
    if check.detectable is not None:
        words.append(f"would see {with_unit(check.detectable, check.unit)}")
    if check.probe == "logprobs" and check.baseline is not None:
        words.append(f"repeats differ by {number(check.baseline, 'nat')}")
    return words
