"""Slower than in the weeks before, told from a busy day, a busy hour and chance."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from monitor.drift.latency_past import DAYS, SPAN, Timed, latency_finding, moved
from monitor.drift.rule import Verdict

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

Slower = Callable[[timedelta], float]


def hourly(slower: Slower, *, every: timedelta = HOUR, buckets: int = 1, seed: int = 0) -> Iterator[Timed]:
    """Medians of the last days and the weeks before, twice as long by night; `slower` by the age of each."""
    rng = np.random.default_rng(seed)
    for step in range(SPAN // every):
        age = step * every
        at = NOW - age
        for bucket in range(buckets):
            usual = (1 + bucket) * (2.0 if at.hour < 6 else 1.0) * rng.lognormal(0.0, 0.1)
            yield Timed(at, str(bucket), slower(age) * usual)


def verdict(slower: Slower, **how: object) -> Verdict:
    found = latency_finding({"ttft": moved(list(hourly(slower, **how)), NOW)})  # type: ignore[arg-type]
    assert found is not None
    return found.verdict


def lately(days: float, by: float) -> Slower:
    return lambda age: by if age < days * DAY else 1.0


def busy(*days: int) -> Slower:
    return lambda age: 2.0 if age // DAY in days else 1.0


@pytest.mark.parametrize(
    ("slower", "said"),
    [
        (lately(0, 1.0), Verdict.OK),
        (lately(DAYS, 1.4), Verdict.SUSPECT),
        (lately(DAYS, 0.6), Verdict.SUSPECT),
        (lately(14, 1.6), Verdict.SUSPECT),
        # Surely so, and by too little to matter.
        (lately(DAYS, 1.1), Verdict.OK),
        # A busy day, and two of them, are no other stack.
        (busy(0), Verdict.OK),
        (busy(1, 2), Verdict.INCONCLUSIVE),
        (lambda age: 0.5 if age // DAY == 0 else 2.0 if age // DAY < DAYS else 1.0, Verdict.INCONCLUSIVE),
        # What was busy in the weeks before.
        (busy(5, 9, 17), Verdict.OK),
    ],
)
def test_what_holds_for_three_days_and_by_more_than_a_fifth_is_suspect(slower: Slower, said: Verdict) -> None:
    assert verdict(slower) is said


def test_one_check_a_night_tells_it_after_three_nights() -> None:
    nightly = {"every": DAY, "buckets": 3}

    assert verdict(lately(DAYS, 1.5), **nightly) is Verdict.SUSPECT
    assert verdict(lately(1, 1.5), **nightly) is not Verdict.SUSPECT


def test_days_that_differ_as_a_whole_are_seldom_taken_for_a_change() -> None:
    def differing(seed: int) -> Slower:
        of_day = np.random.default_rng(seed).lognormal(0.0, 0.2, SPAN // DAY + 1)
        return lambda age: float(of_day[age // DAY])

    said = [verdict(differing(seed), every=4 * HOUR, seed=seed) for seed in range(100)]

    assert said.count(Verdict.SUSPECT) <= 4


def test_the_finding_says_what_moved_and_by_how_much() -> None:
    found = latency_finding(
        {
            "ttft": moved(list(hourly(lately(DAYS, 1.5))), NOW),
            "tpot": moved(list(hourly(lately(0, 1.0), seed=1)), NOW),
            "other": None,
        }
    )

    assert found is not None
    assert re.fullmatch(r"ttft \+(4[5-9]|5[0-5])% for 3 days", found.reason)
    assert found.adjusted_p is not None
    assert found.adjusted_p < 1e-4


def test_with_too_few_hours_in_common_nothing_is_said() -> None:
    everything = list(hourly(lately(DAYS, 3.0)))
    young = [one for one in everything if NOW - one.at < (DAYS + 0.4) * DAY]
    other_hours = [one for one in everything if (NOW - one.at < DAYS * DAY) == (one.at.hour == 3)]

    assert moved(young, NOW) is None
    assert moved(other_hours, NOW) is None
    assert moved([], NOW) is None
    assert latency_finding({"ttft": None}) is None
