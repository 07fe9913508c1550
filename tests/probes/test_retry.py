"""The retry plan."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.completion import RetryAfter
from probes.failure import FailureKind
from probes.retry import MAX_RETRIES, RETRIABLE, RETRY_AFTER_CAP_S, retry_after_seconds, wait_before_retry

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("kind", sorted(set(FailureKind) - RETRIABLE))
def test_what_another_try_cannot_mend_is_not_tried_again(kind: FailureKind) -> None:
    assert wait_before_retry(kind, retries=0, retry_after_s=0.0, jitter=0.5) is None


@given(st.sampled_from(sorted(RETRIABLE)), st.integers(0, 5), st.floats(0, 1, exclude_max=True))
def test_waits_grow_and_end(kind: FailureKind, retries: int, jitter: float) -> None:
    wait = wait_before_retry(kind, retries=retries, retry_after_s=None, jitter=jitter)

    if retries >= MAX_RETRIES:
        assert wait is None
    else:
        assert wait is not None
        assert 0.5 * 2**retries <= wait <= 1.5 * 2**retries


@given(st.floats(0, 1e6), st.floats(0, 1, exclude_max=True))
def test_a_wait_asked_for_is_kept_to_the_letter_or_not_at_all(asked: float, jitter: float) -> None:
    wait = wait_before_retry(FailureKind.RATE_LIMITED, retries=0, retry_after_s=asked, jitter=jitter)

    assert wait == (asked if asked <= RETRY_AFTER_CAP_S else None)


def test_seconds_are_taken_as_they_are() -> None:
    assert retry_after_seconds(RetryAfter("7", "seconds", 7.0), date=None, now=NOON) == 7.0
    assert retry_after_seconds(RetryAfter("1500", "ms", 1.5), date=None, now=NOON) == 1.5
    assert retry_after_seconds(None, date=None, now=NOON) is None


def test_a_date_is_measured_on_the_servers_clock_where_it_shows_one() -> None:
    until = RetryAfter("Sun, 29 Nov 2026 12:00:40 GMT", "http-date")

    assert retry_after_seconds(until, date="Sun, 29 Nov 2026 12:00:30 GMT", now=NOON) == 10.0
    assert retry_after_seconds(until, date=None, now=NOON) == 40.0
    for nonsense in ("yesterday", "Sun, 29 Nov 99999999999 12:00:30 GMT", "Sun, 29 Nov 2026 12:00:30 +9999999999999"):
        assert retry_after_seconds(until, date=nonsense, now=NOON) == 40.0


def test_a_date_that_has_passed_asks_for_no_wait_and_nonsense_for_nothing() -> None:
    assert retry_after_seconds(RetryAfter("Sun, 29 Nov 2026 11:00:00 GMT", "http-date"), date=None, now=NOON) == 0.0
    assert retry_after_seconds(RetryAfter("soon", "http-date"), date=None, now=NOON) is None
