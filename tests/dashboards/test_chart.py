"""Charts as content: what is missing, what is said of them, and small drawings that any days can be made into."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.chart import METRICS, Chart, Gap, Mark, Range, Theme, Width, gaps, within
from dashboards.drawing import drawn, specification
from dashboards.sparkline import DAYS, HEIGHT, WIDTH, sparkline
from monitor.drift.interval import Interval
from monitor.store.pages_queries import Day
from monitor.store.series import SeriesPoint, Span

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
MIDNIGHT = NOON.replace(hour=0)
HOUR = timedelta(hours=1)


def point(hours: float, value: float = 0.01) -> SeriesPoint:
    return SeriesPoint(NOON - hours * HOUR, value, 20, 1, Interval(value / 2, value * 2), value, value)


def chart(*points: SeriesPoint, metric: str = "fidelity", **other: object) -> Chart:
    span = Span(NOON - timedelta(days=1), NOON)
    return Chart(METRICS[metric], span, points, **other)  # type: ignore[arg-type]


def test_a_time_without_points_is_a_gap_also_at_the_end() -> None:
    points = [point(20), point(19), point(10), point(9)]
    found = gaps(points, NOON, 3 * HOUR)
    assert found == (Gap(points[1].at, points[2].at), Gap(points[3].at, NOON))


def test_nothing_is_missing_where_nothing_was_expected() -> None:
    assert gaps([point(20), point(1)], NOON, None) == ()
    assert gaps([], NOON, HOUR) == ()


def test_marks_outside_the_time_shown_are_left_out() -> None:
    inside = Mark(NOON - HOUR, "F", alert=False)
    outside = Mark(NOON - 30 * HOUR, "B", alert=False)
    assert within([inside, outside], Span(NOON - 24 * HOUR, NOON)) == (inside,)


@pytest.mark.parametrize(
    ("content", "caption"),
    [
        (chart(), "Fidelity: no data in this time."),
        (chart(point(1)), "Fidelity was 0.010 nat [0.005, 0.020] last."),
        (
            chart(point(5), point(1, 0.4), lawful=0.02, gaps=(Gap(NOON - 5 * HOUR, NOON - HOUR),)),
            "Fidelity was 0.400 nat [0.200, 0.800] last, beyond the lawful 0.020. "
            "Between 0.010 and 0.400 nat in 2 checks. Without data for 4 h.",
        ),
        (chart(point(2, 3.0), metric="token_offset"), "Token counts was +3 token last."),
    ],
)
def test_the_caption_says_the_finding(content: Chart, caption: str) -> None:
    assert content.caption == caption


def test_a_line_joins_nothing_across_a_gap() -> None:
    content = chart(point(20), point(19), point(5), point(4), gaps=(Gap(point(19).at, point(5).at),))
    text = str(specification(content, Theme.LIGHT, Width.WIDE))
    assert re.findall(r"'piece': (\d)", text)[:4] == ["0", "0", "1", "1"]


def test_every_mark_has_its_line_and_its_letter() -> None:
    marks = (Mark(NOON - HOUR, "B", alert=False), Mark(NOON - HOUR, "A", alert=True), Mark(NOON, "C", alert=False))
    text = str(specification(chart(point(2), marks=marks), Theme.LIGHT, Width.WIDE))
    assert re.findall(r"'letter': '(.*?)'", text) == ["C", "A", "B"]
    assert text.count("'y2': {'value'") == 2


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_can_be_drawn(metric: str) -> None:
    assert drawn(chart(point(3), point(2), metric=metric), Theme.DARK, Width.NARROW).startswith("<svg")


def test_charts_that_look_alike_have_one_digest() -> None:
    assert chart(point(1)).digest == chart(point(1)).digest
    assert len({chart(point(1)).digest, chart(point(2)).digest, chart(point(1), lawful=0.1).digest}) == 3


def test_an_unknown_range_is_a_month() -> None:
    old, young = timedelta(days=40), timedelta(hours=3)
    assert [Range.named(text, old) for text in ("24h", "", "1y")] == [Range.DAY, Range.MONTH, Range.MONTH]
    assert [Range.named("", age) for age in (young, timedelta(days=2))] == [Range.DAY, Range.WEEK]
    assert Range.named("90d", young) is Range.QUARTER


days_of_a_metric = st.dictionaries(st.integers(-5, 45), st.floats(-1e6, 1e6, allow_nan=False), max_size=40).map(
    lambda found: [Day(MIDNIGHT - timedelta(days=age), v, v, v) for age, v in sorted(found.items(), reverse=True)]
)


@settings(max_examples=100)
@given(days_of_a_metric, st.sampled_from(["nat", "token"]))
def test_a_sparkline_stays_in_its_frame_and_breaks_where_days_are_missing(days: list[Day], unit: str) -> None:
    shown = [day for day in days if 0 <= (MIDNIGHT - day.start).days < DAYS]
    found = sparkline(days, unit, MIDNIGHT)
    assert (found is None) == (not shown)
    if found is None:
        return
    places = [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", found.path)]
    assert len(places) == len(shown)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    starts = [day.start for day in shown]
    breaks = sum(later - earlier > timedelta(days=1) for earlier, later in pairwise(starts))
    assert found.path.count("M") == 1 + breaks
