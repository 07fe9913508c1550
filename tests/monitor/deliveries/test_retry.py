"""When a delivery is tried again."""

from __future__ import annotations

import itertools
from datetime import timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.deliveries.retry import (
    DELAYS_S,
    LONGEST_RETRY_AFTER,
    MAX_ATTEMPTS,
    SHORT_PAUSE,
    Again,
    Done,
    GiveUp,
    SwitchOff,
    delay_after,
    next_step,
    parse_retry_after,
)
from tests.monitor.deliveries.material import AT, HOUR

STATUSES = st.one_of(st.none(), st.integers(100, 599))
HEADERS = st.one_of(st.none(), st.text(max_size=40), st.integers(-5, 10**9).map(str))


def test_the_tries_span_a_day_and_a_third() -> None:
    assert MAX_ATTEMPTS == 11
    assert timedelta(seconds=sum(DELAYS_S)) == timedelta(hours=31, minutes=51, seconds=5)


@given(st.text(min_size=1, max_size=40), st.integers(1, MAX_ATTEMPTS - 1))
def test_a_delay_is_near_its_plan_and_always_the_same(delivery_id: str, attempt: int) -> None:
    delay = delay_after(delivery_id, attempt).total_seconds()

    assert 0.85 * DELAYS_S[attempt] - 1e-6 <= delay <= 1.15 * DELAYS_S[attempt] + 1e-6
    assert delay_after(delivery_id, attempt).total_seconds() == delay


def test_delays_of_many_deliveries_are_spread() -> None:
    delays = [delay_after(f"msg_{number}", 6).total_seconds() for number in range(1000)]

    assert min(delays) < 0.86 * 3600 < 1.14 * 3600 < max(delays)
    assert abs(sum(delays) / len(delays) - 3600) < 60


@given(st.text(min_size=1, max_size=40), st.timedeltas(timedelta(minutes=55), timedelta(hours=1)))
def test_after_an_hour_without_a_receiver_the_next_try_is_within_70_minutes(
    delivery_id: str, outage: timedelta
) -> None:
    tries = itertools.accumulate(delay_after(delivery_id, attempt) for attempt in range(MAX_ATTEMPTS))

    first_heard = next(at for at in tries if at >= outage)

    assert first_heard - outage <= timedelta(minutes=70)


@given(st.integers(1, MAX_ATTEMPTS), STATUSES, HEADERS)
def test_every_try_ends_in_one_lawful_step(attempt: int, status: int | None, header: str | None) -> None:
    step = next_step("msg_1", attempt, status, header, AT)

    if status is not None and 200 <= status < 300:
        assert step == Done()
    elif status == 410:
        assert step == SwitchOff(AT)
    elif attempt == MAX_ATTEMPTS:
        assert step == GiveUp()
    else:
        assert isinstance(step, Again)
        assert step.at >= AT + delay_after("msg_1", attempt)
        assert step.pause_until is None or AT < step.pause_until <= AT + LONGEST_RETRY_AFTER


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 404, 500, 501])
def test_a_redirect_and_an_error_are_tried_again_and_pause_nothing_else(status: int) -> None:
    assert next_step("msg_1", 1, status, "30", AT) == Again(AT + delay_after("msg_1", 1))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_receiver_is_left_alone_for_as_long_as_it_asks(status: int) -> None:
    assert next_step("msg_1", 1, status, "120", AT) == Again(AT + timedelta(seconds=120), AT + timedelta(seconds=120))


def test_a_busy_receiver_that_asks_for_little_is_not_tried_sooner_than_planned() -> None:
    step = next_step("msg_1", 6, 429, "1", AT)

    assert step == Again(AT + delay_after("msg_1", 6), AT + timedelta(seconds=1))


def test_a_busy_receiver_that_names_no_time_delays_other_notices_by_a_minute_at_most() -> None:
    step = next_step("msg_1", 6, 503, None, AT)

    assert step == Again(AT + delay_after("msg_1", 6), AT + SHORT_PAUSE)


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("30", timedelta(seconds=30)),
        (" 30 ", timedelta(seconds=30)),
        ("86400", HOUR),
        ("9" * 40, HOUR),
        (format_datetime(AT + timedelta(minutes=5), usegmt=True), timedelta(minutes=5)),
        (format_datetime(AT + timedelta(days=5)), HOUR),
        (format_datetime(AT - timedelta(minutes=5)), None),
        ("0", None),
        ("-1", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_at_most_an_hour(text: str | None, wait: timedelta | None) -> None:
    assert parse_retry_after(text, AT) == wait
