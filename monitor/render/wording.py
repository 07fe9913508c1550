"""Numbers with their units, and the words that every form of a verdict has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from monitor.drift.cause import Cause
from monitor.drift.rule import Verdict
from monitor.verdict import CauseWeight, Cost, ReferenceStatement, Shown, Telling

_SHOWN_TOKENS = 4
_NAMED_WEIGHT = 0.05


@dataclass(frozen=True, slots=True)
class _Unit:
    digits: int
    word: str
    scale: float = 1.0


_UNITS = {
    "nat": _Unit(3, "nat"),
    "token": _Unit(0, "token"),
    "s": _Unit(3, "s"),
    "changes": _Unit(0, "changes"),
    # Of the move of a rate. What a rate is, is told in percent.
    "rate": _Unit(1, "pts", 100.0),
}
_BARE = _Unit(3, "")


def verdict_word(verdict: Verdict) -> str:
    return verdict.value.upper() if verdict in (Verdict.DRIFT, Verdict.SUSPECT) else verdict.value


def number(value: float | None, unit: str | None, *, signed: bool = False) -> str:
    if value is None:
        return "–"
    if value == float("inf"):
        return "∞"
    known = _UNITS.get(unit or "", _BARE)
    # What is rounded to 0 has no sign of its own.
    text = f"{round(known.scale * value, known.digits) + 0.0:.{known.digits}f}"
    return f"+{text}" if signed and not text.startswith("-") else text


def with_unit(value: float | None, unit: str | None, *, signed: bool = False) -> str:
    text = number(value, unit, signed=signed)
    return text if value is None or unit is None else f"{text} {_UNITS[unit].word if unit in _UNITS else unit}"


def with_interval(text: str, interval: tuple[float, float] | None, unit: str | None, *, signed: bool = False) -> str:
    if interval is None:
        return text
    low, high = (number(end, unit, signed=signed) for end in interval)
    return f"{text} [{low}, {high}]"


def percent(value: float | None) -> str:
    """`92.7 %`; only all and nothing are written without a decimal."""
    if value is None:
        return "–"
    return f"{100.0 * value:.0f} %" if value in (0.0, 1.0) else f"{100.0 * value:.1f} %"


def percent_with(value: float | None, interval: tuple[float, float] | None) -> str:
    """`92.7 % [88.1, 95.6]`."""
    if value is None or interval is None:
        return percent(value)
    low, high = (percent(end).removesuffix(" %") for end in interval)
    return f"{percent(value)} [{low}, {high}]"


def p_text(p: float | None) -> str:
    if p is None:
        return "–"
    return f"{p:.2g}" if p >= 1e-3 else f"{p:.0e}"


def cause_text(causes: Sequence[Cause | CauseWeight]) -> str:
    """The causes worth naming, most likely first."""
    return ", ".join(f"{cause.name} {cause.weight:.0%}" for cause in causes if cause.weight >= _NAMED_WEIGHT)


def counts_text(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items()))


def variant_name(variant: str) -> str:
    """As much of a digest as tells a handful of them apart."""
    return variant[:8]


def telling_rows(telling: Telling) -> list[tuple[str, str]]:
    """`then`, `now` and `reference` with what was seen, those left out of which nothing is known."""
    rows = [("then", telling.then), ("now", telling.now), ("reference", telling.reference)]
    return [(name, text) for name, shown in rows if (text := _shown_text(shown))]


def _shown_text(shown: Shown) -> str:
    if shown.prompt_tokens is not None:
        return f"{shown.prompt_tokens} prompt tokens"
    return "  ".join(f"{token.token!r} {token.logprob:.3f}" for token in shown.tokens[:_SHOWN_TOKENS])


def cost_text(cost: Cost) -> str:
    """`230 requests, at least 14640 tokens in and 3549 out (78 answers came without a count), at least $0.001200`."""
    least = "at least " if cost.without_usage else ""
    usd = "price not configured" if cost.usd is None else f"{least}${cost.usd:.6f}"
    if cost.tokens_in is None or cost.tokens_out is None:
        usd = "cost not known"
    answers = f"{cost.without_usage} answer{'' if cost.without_usage == 1 else 's'}"
    why = f" ({answers} came without a count)" if least else ""
    return f"{cost.requests} requests, {_tokens_text(cost, least)}{why}, {usd}"


def reference_text(reference: ReferenceStatement) -> str:
    """`reference vendor/big: 40 requests, 1200 tokens in and 40 out, $0.001200`."""
    return "; ".join(filter(None, (f"reference {reference.endpoint}: {cost_text(reference.cost)}", reference.reason)))


def _tokens_text(cost: Cost, least: str) -> str:
    match cost.tokens_in, cost.tokens_out:
        case None, None:
            return "tokens not known"
        case None, out:
            return f"tokens in not known, {least}{out} out"
        case into, None:
            return f"{least}{into} tokens in, out not known"
        case into, out:
            return f"{least}{into} tokens in and {out} out"


def duration_text(length: timedelta) -> str:
    seconds = length.total_seconds()
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"
