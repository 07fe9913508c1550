"""Series: rollups add up to their points on both databases, and no chart gets more points than it can show."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import insert

from monitor.store import EndpointRecord, MetricPoint, Store
from monitor.store.quantiles import Agg, packed, quantile
from monitor.store.rollups import add_to_rollups, bucket_start
from monitor.store.series import MOST_POINTS, Series, Span, Step, Sums, added
from monitor.store.tables import MetricPoint as PointRow
from monitor.store.vocabulary import Bucket
from tests.monitor.store.material import AT, finished_run, identity, later, result

METRIC = "logprobs.shift"
ALL = Span(AT - timedelta(days=3650), AT + timedelta(days=3650))


def add_points(store: Store, endpoint_id: str, values: list[tuple[datetime, float]]) -> None:
    with store.sessions.write() as session:
        for at, same in groupby(values, key=lambda pair: pair[0].replace(minute=0)):
            add_to_rollups(session, endpoint_id, at, [MetricPoint(METRIC, value, 3) for _, value in same])


def run_with(store: Store, endpoint: EndpointRecord, at: datetime, value: float) -> None:
    finished_run(store, endpoint.id, at, outcome=replace(result(), metric_points=[MetricPoint(METRIC, value, 5)]))


def test_rollups_are_written_with_the_run_and_add_up_to_its_points(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        values = [0.5, -1.25, 3.0, 0.25]
        for number, value in enumerate(values):
            run_with(store, endpoint, later(20 * number), value)
        found = Series(store.sessions)

        raw = found.series(endpoint.id, METRIC, ALL)
        hours = found.series(endpoint.id, METRIC, ALL, Step.HOUR)
        (day,) = found.series(endpoint.id, METRIC, ALL, Step.DAY).points

    assert (raw.step, raw.coarsened) == (Step.RAW, False)
    assert [point.value for point in raw.points] == values
    assert [(point.at, point.points, point.n) for point in hours.points] == [(AT, 3, 15), (later(60), 1, 5)]
    assert day.value == pytest.approx(np.mean(values))
    assert (day.least, day.most, day.points) == (-1.25, 3.0, 4)
    assert day.interval is not None
    assert day.interval.high - day.value == pytest.approx(3.182446 * np.std(values, ddof=1) / 2, rel=1e-6)


@settings(max_examples=60)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40))
def test_quantiles_are_those_of_numpy(values: list[float]) -> None:
    together = b"".join(map(packed, values))
    for agg, part in ((Agg.P50, 0.5), (Agg.P95, 0.95), (Agg.P99, 0.99)):
        assert quantile(together, agg) == pytest.approx(np.quantile(values, part), rel=1e-12)


def test_quantiles_of_hours_and_days_are_exact_without_single_points(store: Store, endpoint: EndpointRecord) -> None:
    # Values whose bytes hold zeros, signs and what is no UTF-8.
    values = np.array([0.0, -0.0, 1.0, -2.5, 1e-300, 3.3e17, -7.0, 0.1, 255.0, 1e9, 4.0, 5.0])
    add_points(store, endpoint.id, [(later(20 * number), float(value)) for number, value in enumerate(values)])
    found = Series(store.sessions)

    hours = found.series(endpoint.id, METRIC, ALL, Step.HOUR, Agg.P95).points
    (day,) = found.series(endpoint.id, METRIC, ALL, Step.DAY, Agg.P50).points

    assert [point.value for point in hours] == pytest.approx(
        [np.quantile(values[n : n + 3], 0.95) for n in (0, 3, 6, 9)]
    )
    assert day.value == pytest.approx(np.median(values))
    assert (day.points, day.n, day.interval, day.least, day.most) == (12, 36, None, -7.0, 3.3e17)


def test_quantiles_of_many_days_together_are_exact(store: Store, endpoint: EndpointRecord) -> None:
    add_points(store, endpoint.id, [(AT + timedelta(days=number), float(number)) for number in range(1500)])

    first, second, *_ = Series(store.sessions).series(endpoint.id, METRIC, ALL, Step.DAY, Agg.P50).points

    assert (first.value, first.points, second.value) == (0.5, 2, 2.5)


def test_a_single_runs_point_is_its_own_quantile(store: Store, endpoint: EndpointRecord) -> None:
    run_with(store, endpoint, AT, 3.0)

    (point,) = Series(store.sessions).series(endpoint.id, METRIC, ALL, Step.RAW, Agg.P99).points
    (hour,) = Series(store.sessions).series(endpoint.id, METRIC, ALL, Step.HOUR, Agg.P99).points

    assert (point.value, hour.value) == (3.0, 3.0)


def test_runs_that_end_together_lose_no_point(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: run_with(store, endpoint, AT, float(number)), range(24)))
        (day,) = Series(store.sessions).series(endpoint.id, METRIC, ALL, Step.DAY).points
        (median,) = Series(store.sessions).series(endpoint.id, METRIC, ALL, Step.DAY, Agg.P50).points

    assert (day.points, day.n, day.least, day.most) == (24, 120, 0.0, 23.0)
    assert median.value == pytest.approx(11.5)
    assert day.value == pytest.approx(11.5)


@pytest.mark.parametrize(
    ("hours", "step", "coarsened"), [(10, Step.RAW, False), (1000, Step.HOUR, True), (3000, Step.DAY, True)]
)
def test_auto_is_as_fine_as_a_chart_can_show(
    store: Store, endpoint: EndpointRecord, hours: int, step: Step, coarsened: bool
) -> None:
    times = [AT + timedelta(minutes=20 * number) for number in range(3 * hours)]
    add_points(store, endpoint.id, [(at, 1.0) for at in times])
    run_id = finished_run(store, endpoint.id, AT - timedelta(days=1))
    with store.sessions.write() as session:
        rows = [{"endpoint_id": endpoint.id, "run_id": run_id, "metric": METRIC, "ts": at} for at in times]
        session.execute(insert(PointRow), [{**row, "value": 1.0, "n": 3} for row in rows])
    found = Series(store.sessions).series(endpoint.id, METRIC, Span(AT, AT + timedelta(hours=hours)))
    assert (found.step, found.coarsened) == (step, coarsened)
    assert len(found.points) <= MOST_POINTS


def test_more_days_than_a_chart_shows_come_several_together(store: Store, endpoint: EndpointRecord) -> None:
    days = [AT + timedelta(days=number) for number in range(2500)]
    add_points(store, endpoint.id, [(at, 1.0) for at in days])
    found = Series(store.sessions).series(endpoint.id, METRIC, ALL, Step.DAY)
    assert (found.width, found.coarsened) == (timedelta(days=3), True)
    assert len(found.points) == math.ceil(2500 / 3)
    assert sum(point.points for point in found.points) == 2500


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40),
    st.integers(1, 39),
)
@settings(max_examples=100)
def test_sums_may_be_added_in_any_parts(values: list[float], cut: int) -> None:
    def sums(part: list[float]) -> Sums:
        return Sums(AT, len(part), len(part), sum(part), sum(v * v for v in part), min(part), max(part))

    cut = min(cut, len(values) - 1)
    whole, parts = sums(values).point(), added([sums(values[:cut]), sums(values[cut:])], AT).point()
    assert (parts.n, parts.points, parts.least, parts.most) == (whole.n, whole.points, whole.least, whole.most)
    assert parts.value == pytest.approx(whole.value, rel=1e-9, abs=1e-6)
    assert parts.interval is not None
    assert parts.interval.low <= parts.value <= parts.interval.high


def test_buckets_are_hours_and_days_in_utc() -> None:
    at = datetime.fromisoformat("2026-11-29T23:59:59.5+00:00")
    assert bucket_start(Bucket.HOUR, at).isoformat() == "2026-11-29T23:00:00+00:00"
    assert bucket_start(Bucket.DAY, at).isoformat() == "2026-11-29T00:00:00+00:00"
