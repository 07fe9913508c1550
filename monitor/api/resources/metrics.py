"""Charts: the history of a metric with its intervals, and endpoints compared."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from monitor import clock
from monitor.api.needs import READS, State, problems
from monitor.api.resources.endpoints import existing
from monitor.api.resources.runs import IntervalDocument
from monitor.api.shapes import Metric, Shape, Since, Until, WantedEndpoint
from monitor.drift.interval import Interval
from monitor.errors import Finding, RequestError
from monitor.store.quantiles import Agg
from monitor.store.series import LEVEL, MOST_POINTS, SeriesPoint, Span, Step, Sums

router = APIRouter(tags=["metrics"])

_DEFAULT_SPAN = timedelta(days=30)
_FEWEST, _MOST = 2, 6


class PointDocument(Shape):
    at: datetime
    value: float = Field(description="the mean, or what `agg` asked for, where the point sums up several")
    n: int = Field(description="samples behind it")
    points: int = Field(description="points that it sums up; 1 for a single run's")
    interval: IntervalDocument | None = Field(description="of the value; null for a quantile")
    least: float
    most: float


class SeriesDocument(Shape):
    """A time without a point is a time without data."""

    endpoint: str
    metric: str
    start: datetime = Field(serialization_alias="from")
    end: datetime = Field(serialization_alias="to")
    step: Step = Field(description="as it was answered: never auto")
    agg: Agg
    step_seconds: float | None = Field(description="null for single runs")
    coarsened: bool = Field(description=f"a finer step would have given more than {MOST_POINTS} points")
    points: list[PointDocument]


class ComparedEndpoint(Shape):
    """`difference` is to the first endpoint that was named, with a 95 % interval where both have two points or more."""

    endpoint: str
    provider: str
    model: str
    value: float | None = Field(description="the mean over the span; null where there is no point")
    interval: IntervalDocument | None
    points: int
    n: int
    difference: float | None
    difference_interval: IntervalDocument | None


class Comparison(Shape):
    metric: str
    start: datetime = Field(serialization_alias="from")
    end: datetime = Field(serialization_alias="to")
    items: list[ComparedEndpoint] = Field(description="by falling value; those without data last")


@router.get("/metrics/series", dependencies=[READS], responses=problems(404))
def show_series(
    state: State,
    endpoint: WantedEndpoint,
    metric: Metric,
    since: Since = None,
    until: Until = None,
    step: Annotated[Step, Query(description="`auto`: as fine as 1,000 points allow")] = Step.AUTO,
    agg: Annotated[Agg, Query(description="of the points in each step; a single run's point is its own")] = Agg.MEAN,
) -> SeriesDocument:
    """The history of a metric, by default of the last 30 days. Hours and days are in UTC; a span that begins within one
    begins with it. Quantiles are exact, between two points by the straight line; of what was recorded before they were
    kept and is gone by now there are none."""
    existing(state, endpoint)
    span = _span(since, until)
    found = state.series.series(endpoint, metric, span, step, agg)
    return SeriesDocument(
        endpoint=endpoint,
        metric=metric,
        start=span.start,
        end=span.end,
        step=found.step,
        agg=agg,
        step_seconds=None if found.width is None else found.width.total_seconds(),
        coarsened=found.coarsened,
        points=[PointDocument.model_validate(point) for point in found.points],
    )


@router.get("/compare", dependencies=[READS], responses=problems(404))
def compare(
    state: State,
    endpoints: Annotated[
        str,
        Query(
            pattern=r"^ep_[0-9A-HJKMNP-TV-Z]{26}(,ep_[0-9A-HJKMNP-TV-Z]{26}){1,5}$",
            description="2 to 6 ids, separated by commas; the first is what the others are compared with",
        ),
    ],
    metric: Metric,
    since: Since = None,
    until: Until = None,
) -> Comparison:
    """Endpoints side by side: each one's mean over the span, and how far it is from the first one's."""
    ids = list(dict.fromkeys(endpoints.split(",")))
    if len(ids) < _FEWEST:
        raise RequestError("Name different endpoints.", findings=[Finding("/query/endpoints", "repeated", "repeated")])
    overviews = {each: existing(state, each).endpoint for each in ids}
    span = _span(since, until)
    totals = state.series.totals(ids, metric, span)
    items = [
        _compared(each, overviews[each].provider, overviews[each].model, totals[each], totals[ids[0]]) for each in ids
    ]
    items.sort(key=lambda item: (item.value is None, -(item.value or 0.0)))
    return Comparison(metric=metric, start=span.start, end=span.end, items=items)


def _span(since: datetime | None, until: datetime | None) -> Span:
    end = until or clock.now()
    try:
        span = Span(since or end - _DEFAULT_SPAN, end)
    except OverflowError:
        raise RequestError("The span begins before time does.", findings=[_BACKWARDS]) from None
    if span.start >= span.end:
        raise RequestError("The span ends before it begins.", findings=[_BACKWARDS])
    return span


_BACKWARDS = Finding("/query/from", "span", "must be before `to`")


def _compared(endpoint: str, provider: str, model: str, sums: Sums | None, first: Sums | None) -> ComparedEndpoint:
    point = None if sums is None else sums.point()
    base = None if first is None else first.point()
    interval = None if sums is None or first is None or sums is first else difference_interval(sums, first)
    return ComparedEndpoint(
        endpoint=endpoint,
        provider=provider,
        model=model,
        value=None if point is None else point.value,
        interval=_interval(point),
        points=0 if point is None else point.points,
        n=0 if point is None else point.n,
        difference=None if point is None or base is None else point.value - base.value,
        difference_interval=None if interval is None else IntervalDocument.model_validate(interval),
    )


def _interval(point: SeriesPoint | None) -> IntervalDocument | None:
    if point is None or point.interval is None:
        return None
    return IntervalDocument.model_validate(point.interval)


def difference_interval(sums: Sums, first: Sums) -> Interval | None:
    """Welch's interval of the difference of two means; None where one of them has a single point."""
    if sums.points < 2 or first.points < 2:
        return None
    of_sums, of_first = _squared_error(sums), _squared_error(first)
    difference = sums.total / sums.points - first.total / first.points
    both = of_sums + of_first
    if both == 0.0:
        return Interval(difference, difference, LEVEL)
    from scipy.special import stdtrit  # see monitor.store.series

    freedom = both**2 / (of_sums**2 / (sums.points - 1) + of_first**2 / (first.points - 1))
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * math.sqrt(both)
    return Interval(difference - half, difference + half, LEVEL)


def _squared_error(sums: Sums) -> float:
    """The square of the mean's standard error."""
    mean = sums.total / sums.points
    return max(0.0, sums.total_squares - sums.total * mean) / (sums.points - 1) / sums.points
