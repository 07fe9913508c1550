"""The history of one metric of one endpoint, from single points or from rollups, never more than a chart can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby

from sqlalchemy import func, null, select
from sqlalchemy.orm import Session, defer

from monitor.drift.interval import Interval
from monitor.store.quantiles import Agg, quantile
from monitor.store.rollups import WIDTHS, bucket_start
from monitor.store.session import Sessions
from monitor.store.tables import MetricPoint, MetricRollup
from monitor.store.vocabulary import Bucket

MOST_POINTS = 1000
LEVEL = 0.95


class Step(StrEnum):
    """How a series is summed up: not at all, by hour, by day; or as finely as `MOST_POINTS` allow."""

    AUTO = "auto"
    RAW = "raw"
    HOUR = "hour"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """`value` is the mean, or another figure, of `points` points that were made from `n` samples; `interval` is the
    point's own where it is one, and the 95 % interval of the mean where there are several; None for another figure."""

    at: datetime
    value: float
    n: int
    points: int
    interval: Interval | None
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class SeriesRecord:
    """`width` is the step's, None for single points. `coarsened`: a finer step was wanted but would
    have given more than MOST_POINTS."""

    step: Step
    width: timedelta | None
    coarsened: bool
    points: tuple[SeriesPoint, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` until just before `end`, both in UTC."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Sums:
    """Points added up, as a rollup holds them; `values` are read for quantiles alone."""

    at: datetime
    n: int
    points: int
    total: float
    total_squares: float
    least: float
    most: float
    values: bytes | None = None

    def quantile_point(self, agg: Agg) -> SeriesPoint | None:
        """None where the values were never kept."""
        if self.values is None:
            return None
        return SeriesPoint(self.at, quantile(self.values, agg), self.n, self.points, None, self.least, self.most)

    def point(self) -> SeriesPoint:
        mean = self.total / self.points
        return SeriesPoint(self.at, mean, self.n, self.points, self._interval(mean), self.least, self.most)

    def _interval(self, mean: float) -> Interval | None:
        """Student's t over the points; None for a single one."""
        if self.points < 2:
            return None
        from scipy.special import stdtrit  # a tenth of what a web process weighs, and only charts ask for it

        # Rounding may leave a tiny negative number where all points are equal.
        variance = max(0.0, self.total_squares - self.total * mean) / (self.points - 1)
        half = float(stdtrit(self.points - 1, (1 + LEVEL) / 2)) * math.sqrt(variance / self.points)
        return Interval(mean - half, mean + half, LEVEL)


def added(sums: Sequence[Sums], at: datetime) -> Sums:
    """Several rollups as one that begins at `at`."""
    return Sums(
        at,
        sum(each.n for each in sums),
        sum(each.points for each in sums),
        math.fsum(each.total for each in sums),
        math.fsum(each.total_squares for each in sums),
        min(each.least for each in sums),
        max(each.most for each in sums),
        _joined([each.values for each in sums]),
    )


def _joined(values: Sequence[bytes | None]) -> bytes | None:
    known = [each for each in values if each is not None]
    return b"".join(known) if len(known) == len(values) else None


def series(
    session: Session, endpoint_id: str, metric: str, span: Span, step: Step, agg: Agg = Agg.MEAN
) -> SeriesRecord:
    """The metric's history at `step`; at the next coarser one where that gives more than MOST_POINTS."""
    if step in (Step.AUTO, Step.RAW) and _count_raw(session, endpoint_id, metric, span) <= MOST_POINTS:
        return SeriesRecord(Step.RAW, None, False, _raw(session, endpoint_id, metric, span))
    if step is not Step.DAY:
        hours = _rollups(session, endpoint_id, metric, span, Bucket.HOUR, agg)
        if len(hours) <= MOST_POINTS:
            return SeriesRecord(Step.HOUR, WIDTHS[Bucket.HOUR], step is not Step.HOUR, _points(hours, agg))
    days = _rollups(session, endpoint_id, metric, span, Bucket.DAY, agg)
    merged, width = _merged_days(days)
    return SeriesRecord(Step.DAY, width, step is not Step.DAY or len(merged) < len(days), _points(merged, agg))


def _count_raw(session: Session, endpoint_id: str, metric: str, span: Span) -> int:
    within = (
        select(MetricPoint.id)
        .where(
            MetricPoint.endpoint_id == endpoint_id,
            MetricPoint.metric == metric,
            MetricPoint.ts >= span.start,
            MetricPoint.ts < span.end,
        )
        .limit(MOST_POINTS + 1)
    )
    return session.scalars(select(func.count()).select_from(within.subquery())).one()


def _raw(session: Session, endpoint_id: str, metric: str, span: Span) -> tuple[SeriesPoint, ...]:
    rows = session.scalars(
        select(MetricPoint)
        .where(
            MetricPoint.endpoint_id == endpoint_id,
            MetricPoint.metric == metric,
            MetricPoint.ts >= span.start,
            MetricPoint.ts < span.end,
        )
        .order_by(MetricPoint.ts, MetricPoint.id)
    )
    return tuple(SeriesPoint(row.ts, row.value, row.n, 1, _own_interval(row), row.value, row.value) for row in rows)


def _own_interval(row: MetricPoint) -> Interval | None:
    if row.ci_low is None or row.ci_high is None or row.ci_level is None:
        return None
    return Interval(row.ci_low, row.ci_high, row.ci_level)


def _rollups(
    session: Session, endpoint_id: str, metric: str, span: Span, bucket: Bucket, agg: Agg = Agg.MEAN
) -> list[Sums]:
    rows = session.execute(
        select(MetricRollup, null() if agg is Agg.MEAN else MetricRollup.point_values)
        .options(defer(MetricRollup.point_values))
        .where(
            MetricRollup.endpoint_id == endpoint_id,
            MetricRollup.metric == metric,
            MetricRollup.bucket == bucket,
            MetricRollup.start >= bucket_start(bucket, span.start),
            MetricRollup.start < span.end,
        )
        .order_by(MetricRollup.start)
    )
    return [Sums(r.start, r.n, r.points, r.total, r.total_squares, r.least, r.most, values) for r, values in rows]


def _points(sums: Sequence[Sums], agg: Agg) -> tuple[SeriesPoint, ...]:
    if agg is Agg.MEAN:
        return tuple(each.point() for each in sums)
    return tuple(point for each in sums if (point := each.quantile_point(agg)) is not None)


def _merged_days(days: list[Sums]) -> tuple[list[Sums], timedelta]:
    """Neighbouring days together, as few as make at most MOST_POINTS."""
    each = -(-len(days) // MOST_POINTS) or 1
    width = WIDTHS[Bucket.DAY] * each
    if each == 1:
        return days, width
    first = days[0].at
    groups = groupby(days, key=lambda day: (day.at - first) // width)
    return [added(list(some), first + number * width) for number, some in groups], width


def totals(session: Session, endpoint_id: str, metric: str, span: Span) -> Sums | None:
    """All of the metric's hours within the span as one; None where there are none."""
    hours = _rollups(session, endpoint_id, metric, span, Bucket.HOUR)
    return added(hours, span.start) if hours else None


def metrics(session: Session, endpoint_id: str) -> list[str]:
    """The names of all metrics that an endpoint ever had a point of, sorted."""
    daily = select(MetricRollup.metric).where(
        MetricRollup.endpoint_id == endpoint_id, MetricRollup.bucket == Bucket.DAY
    )
    return list(session.scalars(daily.distinct().order_by(MetricRollup.metric)))


class Series:
    """The charts' questions; each is one transaction."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def series(
        self, endpoint_id: str, metric: str, span: Span, step: Step = Step.AUTO, agg: Agg = Agg.MEAN
    ) -> SeriesRecord:
        with self._sessions.read() as session:
            return series(session, endpoint_id, metric, span, step, agg)

    def totals(self, endpoint_ids: Sequence[str], metric: str, span: Span) -> dict[str, Sums | None]:
        with self._sessions.read() as session:
            return {endpoint_id: totals(session, endpoint_id, metric, span) for endpoint_id in endpoint_ids}

    def metrics(self, endpoint_id: str) -> list[str]:
        with self._sessions.read() as session:
            return metrics(session, endpoint_id)
