"""The clock: aware, in UTC, and a second one that never goes back."""

from __future__ import annotations

from datetime import UTC, timedelta

from monitor import clock


def test_now_is_aware_and_in_utc() -> None:
    assert clock.now().tzinfo is UTC
    assert clock.now().utcoffset() == timedelta(0)


def test_monotonic_never_goes_back() -> None:
    first, second = clock.monotonic(), clock.monotonic()

    assert second >= first
