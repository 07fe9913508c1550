"""When a worker is taken for stalled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from monitor.service.stalled import STALLED_AFTER, Labour, stalled

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
LONG = STALLED_AFTER + timedelta(seconds=1)
moments = st.timedeltas(timedelta(minutes=-20), timedelta(minutes=20)).map(lambda apart: NOW + apart)


def test_work_that_waits_while_nothing_is_finished_means_it_is_stalled() -> None:
    assert stalled(Labour(NOW - LONG, NOW - LONG, None), NOW)


def test_work_that_came_just_now_does_not() -> None:
    assert not stalled(Labour(NOW - LONG, NOW, None), NOW)


def test_a_long_check_whose_lease_is_kept_is_work() -> None:
    assert not stalled(Labour(NOW - LONG, NOW - LONG, NOW + timedelta(seconds=30)), NOW)
    assert stalled(Labour(NOW - LONG, NOW - LONG, NOW - timedelta(seconds=30)), NOW)


@given(moments, st.none() | moments)
def test_without_work_that_waits_it_never_is(progress_at: datetime, busy_until: datetime | None) -> None:
    assert not stalled(Labour(progress_at, None, busy_until), NOW)


@given(moments, st.none() | moments, st.none() | moments)
def test_progress_within_the_time_means_it_is_not(
    progress_at: datetime, due_since: datetime | None, busy_until: datetime | None
) -> None:
    if NOW - progress_at <= STALLED_AFTER:
        assert not stalled(Labour(progress_at, due_since, busy_until), NOW)
