"""Numbers and times as the pages write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from monitor.drift.interval import Interval
from monitor.render.wording import number, with_interval, with_unit
from monitor.store.records import RunRecord

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def span(length: timedelta) -> str:
    """`3 d`, `40 min`, `8 s`: the largest unit that fits, days and hours below ten with a decimal."""
    seconds = max(0.0, length.total_seconds())
    for size, unit in _UNITS:
        if seconds >= size:
            amount = seconds / size
            digits = 1 if amount < 10 and unit != "min" else 0
            return f"{amount:.{digits}f} {unit}".replace(".0 ", " ")
    return f"{seconds:.0f} s"


def ago(at: datetime, now: datetime) -> str:
    return "just now" if now - at < timedelta(seconds=1) else f"{span(now - at)} ago"


def until(at: datetime, now: datetime) -> str:
    return "due now" if at <= now else f"in {span(at - now)}"


def minute(at: datetime) -> str:
    """`2026-11-29 12:00`, in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def measured(value: float | None, unit: str | None, interval: Interval | None = None) -> str:
    """`0.677 nat [0.572, 0.795]`, `+12 token`; of rates it is their move that is told so, `-9.6 pts [-13.7, -5.5]`."""
    signed = unit in ("token", "rate")
    text = with_unit(value, unit, signed=signed)
    if value is None or interval is None or unit == "token":
        return text
    return with_interval(text, (interval.low, interval.high), unit, signed=signed)


def moved(value: float | None, unit: str | None) -> str:
    """How far something has moved: `Δ 0.666`, `Δ +12`."""
    return "" if value is None else f"Δ {number(value, unit, signed=unit == 'token')}"


def tokens(run: RunRecord) -> str:
    """What a run used by the endpoint's own count; `≥` where answers came without one."""
    if run.tokens_in is None or run.tokens_out is None:
        return "not known"
    return f"{'≥ ' if run.n_without_usage else ''}{run.tokens_in + run.tokens_out}"


def cost(microusd: int | None) -> str:
    return "–" if microusd is None else f"${microusd / 1e6:.4f}"
