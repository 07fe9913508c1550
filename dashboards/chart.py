"""One metric over time as a chart's content: its points, the times without any, and what happened meanwhile."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from dashboards.numbers import measured, span
from monitor.render.wording import number
from monitor.store.series import SeriesPoint, Span


@dataclass(frozen=True, slots=True)
class Metric:
    """What the chart of a metric is called, and what its number means."""

    name: str
    title: str
    unit: str
    meaning: str


METRICS = {
    metric.name: metric
    for metric in (
        Metric("fidelity", "Fidelity", "nat", "distance to the nearest allowed profile of the reference"),
        Metric("logprobs_shift", "Drift", "nat", "how far log-probabilities have moved since the baseline"),
        Metric("protocol.stack_changes", "Serving stack", "changes", "habits of writing that differ from the baseline"),
        Metric("token_offset", "Token counts", "token", "prompt tokens reported beyond those of the reference"),
        Metric("ttft_p50", "First token", "s", "median time to the first token of streams that go one after another"),
        Metric("tpot_p50", "Further tokens", "s", "median time for each token after it"),
    )
}


class Range(StrEnum):
    """How far back a page looks."""

    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"
    QUARTER = "90d"

    @classmethod
    def named(cls, text: str, age: timedelta) -> Range:
        """Where `text` names none, the shortest that shows all of an endpoint of this age, a month at the most."""
        if text in tuple(cls):
            return cls(text)
        return next((each for each in (cls.DAY, cls.WEEK) if age < each.length), cls.MONTH)

    @property
    def length(self) -> timedelta:
        return _LENGTHS[self]


_LENGTHS = {
    Range.DAY: timedelta(hours=24),
    Range.WEEK: timedelta(days=7),
    Range.MONTH: timedelta(days=30),
    Range.QUARTER: timedelta(days=90),
}


class Theme(StrEnum):
    LIGHT = "light"
    DARK = "dark"


class Width(StrEnum):
    """`narrow` is for telephones, `medium` for what is between: the same text size in fewer pixels."""

    WIDE = "wide"
    MEDIUM = "medium"
    NARROW = "narrow"

    @property
    def plot(self) -> float:
        """What the plot of a chart takes of it, in pixels."""
        return _PLOTS[self]


_PLOTS = {Width.WIDE: 1130.0, Width.MEDIUM: 700.0, Width.NARROW: 330.0}


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened: `alert` says whether an alert fired, or something was changed."""

    at: datetime
    letter: str
    alert: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which there should have been points."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Chart:
    """`lawful` is the level up to which a distance means nothing."""

    metric: Metric
    span: Span
    points: tuple[SeriesPoint, ...]
    gaps: tuple[Gap, ...] = ()
    marks: tuple[Mark, ...] = ()
    lawful: float | None = None

    @property
    def digest(self) -> str:
        """Of all that can be seen: charts that look alike have the same."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:24]

    @property
    def caption(self) -> str:
        """The finding in words, for those who do not see the chart."""
        if not self.points:
            return f"{self.metric.title}: no data in this time."
        sentences = [self._now(), self._range()]
        if self.gaps:
            missing = sum((gap.end - gap.start for gap in self.gaps), timedelta())
            sentences.append(f"Without data for {span(missing)}.")
        return " ".join(sentence for sentence in sentences if sentence)

    def _now(self) -> str:
        last, unit = self.points[-1], self.metric.unit
        value = measured(last.value, unit, last.interval)
        if self.lawful is None:
            return f"{self.metric.title} was {value} last."
        beyond = "beyond" if last.value > self.lawful else "within"
        return f"{self.metric.title} was {value} last, {beyond} the lawful {number(self.lawful, unit)}."

    def _range(self) -> str:
        if len(self.points) < 2:
            return ""
        unit = self.metric.unit
        least, most = min(p.least for p in self.points), max(p.most for p in self.points)
        count = sum(point.points for point in self.points)
        return f"Between {number(least, unit)} and {measured(most, unit)} in {count} checks."


def gaps(points: Sequence[SeriesPoint], end: datetime, patience: timedelta | None) -> tuple[Gap, ...]:
    """The times longer than `patience` between two points, or after the last one. None: nothing was to be expected."""
    if patience is None or not points:
        return ()
    times = [point.at for point in points]
    following = [*times[1:], end]
    return tuple(Gap(one, other) for one, other in zip(times, following, strict=True) if other - one > patience)


def within(marks: Iterable[Mark], span: Span) -> tuple[Mark, ...]:
    return tuple(sorted((m for m in marks if span.start <= m.at < span.end), key=lambda m: (m.at, m.letter)))
