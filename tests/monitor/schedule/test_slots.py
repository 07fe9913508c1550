from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.schedule import CatchUp, CronLine, Interval, Schedule, deadline, due, jittered, phase_of

AT = datetime(2026, 11, 29, 12, 7, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
# Berlin's clock is put forward at 01:00 UTC on the one day, and back at 01:00 UTC on the other.
SPRING = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
AUTUMN = datetime(2026, 10, 25, 1, 0, tzinfo=UTC)

EXPRESSIONS = ["* * * * *", "*/15 * * * *", "30 2 * * *", "0,30 2,3 * * *", "15 */2 * * *", "0 3 * * MON", "0 0 1 * *"]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]

intervals = st.builds(
    lambda seconds, key: Interval(timedelta(seconds=seconds), phase_of(key, timedelta(seconds=seconds))),
    st.integers(1, 200_000),
    st.text(),
)
cron_lines = st.builds(CronLine, st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES))
schedules: st.SearchStrategy[Schedule] = intervals | cron_lines
moments = st.one_of(
    st.timedeltas(timedelta(days=-3000), timedelta(days=3000)).map(lambda apart: AT + apart),
    st.builds(
        lambda change, minutes: change + timedelta(minutes=minutes),
        st.sampled_from([SPRING, AUTUMN]),
        st.integers(-300, 300),
    ),
)


@given(schedules, moments)
@settings(max_examples=100)
def test_slots_are_the_same_from_before_and_from_after(schedule: Schedule, now: datetime) -> None:
    slot, following = schedule.slot_of(now), schedule.next_slot(now)

    assert slot <= now < following
    assert schedule.slot_of(slot) == slot
    assert schedule.slot_of(following) == following
    assert schedule.next_slot(slot) == following
    assert schedule.slot_of(following - timedelta(seconds=1)) == slot


def entered(schedule: Schedule, times: Sequence[datetime], catch_up: CatchUp, jitter: float = 0.0) -> list[datetime]:
    """The slots that ticks at these times enter."""
    slots: list[datetime] = []
    for now in times:
        slot = due(schedule, slots[-1] if slots else None, now, catch_up, key="acme", jitter=jitter)
        if slot is not None:
            slots.append(slot)
    return slots


# Ticks a few seconds apart, now and then a sleep or a clock that is set, by up to a day either way.
steps = st.lists(st.one_of(st.integers(1, 30), st.integers(-86_400, 86_400)), min_size=1, max_size=60)


@given(schedules, moments, steps, st.sampled_from(CatchUp), st.sampled_from([0.0, 0.2, 0.9]))
@settings(max_examples=100)
def test_no_slot_comes_twice_or_before_the_last_however_the_clock_is_set(
    schedule: Schedule, start: datetime, seconds: list[int], catch_up: CatchUp, jitter: float
) -> None:
    times = [start]
    for step in seconds:
        times.append(times[-1] + timedelta(seconds=step))

    slots = entered(schedule, times, catch_up, jitter)

    assert all(earlier < later for earlier, later in pairwise(slots))


@given(schedules, moments, st.integers(1, 86_400 * 3))
@settings(max_examples=100)
def test_a_sleep_is_made_up_for_by_one_check_at_most(schedule: Schedule, start: datetime, asleep: int) -> None:
    woken = start + timedelta(seconds=asleep)
    times = [start, woken, woken + timedelta(seconds=10), woken + timedelta(seconds=20)]

    slots = entered(schedule, times, CatchUp.ONCE)

    made_up = [slot for slot in slots if start < slot <= woken]
    assert len(made_up) <= 1


@given(schedules, moments, st.floats(0.0, 0.9))
@settings(max_examples=50)
def test_with_jitter_every_slot_still_comes_once_and_in_its_own_time(
    schedule: Schedule, start: datetime, jitter: float
) -> None:
    comes = [schedule.slot_of(start)]
    while len(comes) < 5:
        comes.append(schedule.next_slot(comes[-1]))
    # Of lines such as `0,30 2,3 * * *` one slot is forty times as long as another.
    times = [slot + (after - slot) * share / 40 for slot, after in pairwise(comes) for share in range(40)]

    slots = entered(schedule, times, CatchUp.ONCE, jitter)

    assert [schedule.slot_of(slot) for slot in slots] == slots
    assert all(schedule.next_slot(earlier) == later for earlier, later in pairwise(slots))
    for slot in slots:
        length = schedule.next_slot(slot) - slot
        assert slot <= jittered(slot, "acme", jitter, length) <= slot + length * jitter


@pytest.mark.parametrize("change", [SPRING, AUTUMN])
@pytest.mark.parametrize("catch_up", CatchUp)
def test_a_set_time_comes_once_on_the_day_the_clock_is_changed(change: datetime, catch_up: CatchUp) -> None:
    nightly = CronLine("30 2 * * *", "Europe/Berlin")
    ticks = [change + timedelta(seconds=10 * number) for number in range(-1080, 1080)]

    slots = [slot for slot in entered(nightly, ticks, catch_up) if slot > ticks[0]]

    assert len(slots) == 1


def test_a_new_interval_begins_at_once_and_a_new_cron_line_at_its_time() -> None:
    assert due(Interval(timedelta(days=1)), None, AT, CatchUp.SKIP) == datetime(2026, 11, 29, tzinfo=UTC)
    assert due(CronLine("0 3 * * *"), None, AT, CatchUp.ONCE) is None
    assert due(CronLine("5 12 * * *"), None, AT, CatchUp.SKIP) == AT.replace(minute=5)


@pytest.mark.parametrize(("catch_up", "expected"), [(CatchUp.SKIP, None), (CatchUp.ONCE, AT.replace(minute=0))])
def test_after_a_sleep_the_missed_slots_are_one_or_none(catch_up: CatchUp, expected: datetime | None) -> None:
    assert due(Interval(QUARTER), AT - timedelta(hours=8), AT, catch_up) == expected


def test_a_slot_that_is_a_little_late_is_no_missed_one() -> None:
    now = AT.replace(minute=4)

    assert due(Interval(QUARTER), now - QUARTER, now, CatchUp.SKIP) == AT.replace(minute=0)


def test_a_check_has_as_long_to_begin_as_its_slot_is_long() -> None:
    assert deadline(Interval(QUARTER), AT.replace(minute=0), AT) == AT + QUARTER
    assert deadline(CronLine("0 3 * * *"), AT.replace(hour=3, minute=0), AT) == AT + timedelta(days=1)


def test_phases_are_spread_and_stay() -> None:
    phases = [phase_of(f"ep_{number}", QUARTER) for number in range(1000)]

    assert phases == [phase_of(f"ep_{number}", QUARTER) for number in range(1000)]
    quarters = [sum(QUARTER * n / 4 <= phase < QUARTER * (n + 1) / 4 for phase in phases) for n in range(4)]
    assert sum(quarters) == 1000
    assert min(quarters) > 200


@pytest.mark.parametrize(
    ("expression", "zone"),
    [("0 3 * *", "UTC"), ("61 * * * *", "UTC"), ("0 0 30 2 *", "UTC"), ("0 0 * * * *", "UTC"), ("* * * * *", "Mars")],
)
def test_what_is_no_cron_line_is_refused(expression: str, zone: str) -> None:
    with pytest.raises(ValueError, match=r"five fields|names no times|no time zone"):
        CronLine(expression, zone)


def test_an_interval_must_be_of_some_length() -> None:
    with pytest.raises(ValueError, match="not at least a second"):
        Interval(timedelta(0))
