"""Maintenance windows: when they are open, in their own time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config.service import Maintenance
from monitor.config.windows import open_until


def window(**keys: Any) -> Maintenance:
    return Maintenance.model_validate({"id": "w", "duration": "2h", **keys})


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


SUNDAYS = window(rrule="FREQ=WEEKLY;BYDAY=SU;BYHOUR=2", tz="Europe/Berlin")


@pytest.mark.parametrize(
    ("at", "end"),
    [
        ("2026-11-29T00:59:59", None),
        ("2026-11-29T01:00", "2026-11-29T03:00"),
        ("2026-11-29T02:59:59", "2026-11-29T03:00"),
        ("2026-11-29T03:00", None),
        ("2026-11-30T01:30", None),
        # In summer the clocks are an hour on.
        ("2026-07-05T00:00", "2026-07-05T02:00"),
        # There is no 02:00 on the day when they are put forward.
        ("2026-03-29T01:30", "2026-03-29T03:00"),
    ],
)
def test_a_rule_counts_in_local_time(at: str, end: str | None) -> None:
    assert open_until(SUNDAYS, utc(at)) == (None if end is None else utc(end))


def test_a_single_window_opens_once() -> None:
    once = window(starts="2026-12-01T02:00", tz="America/New_York", duration="1d")

    assert open_until(once, utc("2026-12-01T06:59")) is None
    assert open_until(once, utc("2026-12-01T07:00")) == utc("2026-12-02T07:00")
    assert open_until(once, utc("2026-12-02T07:00")) is None


def test_a_rule_counts_from_its_start() -> None:
    fortnightly = window(starts="2026-11-01T10:00", rrule="FREQ=WEEKLY;INTERVAL=2;COUNT=2")

    opened = [day for day in range(60) if open_until(fortnightly, utc("2026-10-20T11:00") + timedelta(days=day))]

    assert opened == [12, 26]


def test_windows_that_overlap_are_one() -> None:
    long = window(rrule="FREQ=DAILY", duration="36h")

    assert open_until(long, utc("2026-11-29T01:00")) == utc("2026-11-30T12:00")


@given(at=st.datetimes(datetime(2024, 2, 1), datetime(2031, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_window_that_is_open_closes_after_its_duration_at_most(at: datetime) -> None:
    end = open_until(SUNDAYS, at)

    if end is not None:
        assert timedelta(0) < end - at <= timedelta(hours=2)
        assert open_until(SUNDAYS, end) is None
