"""What keeps the service from its work."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from monitor.service.readiness import CANARY_WITHIN, TICK_WITHIN, Signs, lacking

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
ages = st.none() | st.floats(0, 1000)


def names(signs: Signs) -> list[str]:
    return [one.name for one in lacking(signs, NOW)]


@given(st.booleans(), ages, ages)
def test_each_sign_that_is_missing_or_old_is_named(broker: bool, tick: float | None, canary: float | None) -> None:
    at = {name: None if age is None else NOW - timedelta(seconds=age) for name, age in (("t", tick), ("c", canary))}
    expected = [
        *([] if broker else ["broker"]),
        *([] if tick is not None and tick < TICK_WITHIN.total_seconds() else ["tick"]),
        *([] if canary is not None and canary < CANARY_WITHIN.total_seconds() else ["canary"]),
    ]
    assert names(Signs(broker, at["t"], at["c"])) == expected


def test_the_sentence_says_how_long_ago_it_was() -> None:
    (tick,) = lacking(Signs(True, NOW - timedelta(seconds=75), NOW), NOW)
    assert tick.sentence == "The last tick was executed 75 s ago; it should be less than 60 s ago."


def test_what_never_happened_is_said_so() -> None:
    (canary,) = lacking(Signs(True, NOW, None), NOW)
    assert canary.sentence.startswith("No canary task was ever executed")
