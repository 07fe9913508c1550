"""Thirty days of one metric as a small drawing: numbers in, path data out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.store.pages_queries import Day

WIDTH, HEIGHT, MARGIN = 72.0, 22.0, 2.5
DAYS = 30
# What is below this is noise: it is drawn flat, not blown up to the drawing's height.
_LEAST_RANGE = {"nat": 0.05, "token": 4.0}


@dataclass(frozen=True, slots=True)
class Sparkline:
    """`path` is broken where days are missing; `last` is where the latest day stands; `title` says it in words."""

    path: str
    last: tuple[float, float]
    title: str


def sparkline(days: Sequence[Day], unit: str, today: datetime) -> Sparkline | None:
    """`today` is the start of the last day shown; None where there is nothing to draw."""
    shown = [day for day in days if timedelta(0) <= today - day.start < timedelta(days=DAYS)]
    if not shown:
        return None
    low = min(0.0, *(day.mean for day in shown))
    high = max(low + _LEAST_RANGE[unit], *(day.mean for day in shown))
    places = [(DAYS - 1 - (today - day.start).days, (day.mean - low) / (high - low)) for day in shown]
    points = [(_x(index), HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)) for index, share in places]
    path = "".join(_path([index for index, _ in places], points))
    digits = 0 if unit == "token" else 3
    least, most = min(day.least for day in shown), max(day.most for day in shown)
    title = (
        f"{len(shown)} of {DAYS} days with data, between {least:.{digits}f} and {most:.{digits}f} {unit}, "
        f"last {shown[-1].mean:.{digits}f}"
    )
    return Sparkline(path, points[-1], title)


def _x(index: int) -> float:
    return MARGIN + index * (WIDTH - 2 * MARGIN) / (DAYS - 1)


def _path(indexes: Sequence[int], points: Sequence[tuple[float, float]]) -> Iterator[str]:
    previous = None
    for index, (x, y) in zip(indexes, points, strict=True):
        # A day that stands alone is a line of no length, which round ends make a dot.
        yield f"L{x:.1f} {y:.1f}" if previous == index - 1 else f"M{x:.1f} {y:.1f}h0"
        previous = index
