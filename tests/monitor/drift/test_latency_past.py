"""Slower than in the weeks before, told from a busy day, a busy hour and chance."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from monitor.drift.latency_past import DAYS, REACH, Timed, latency_finding, moved
from monitor.drift.rule import Verdict

NOON = 12

# By how many days ago.
Slower = Callable[[float], float]


def hourly(slower: Slower, *, every: int = 1, buckets: int = 1, seed: int = 0) -> Iterator[Timed]:
    """Medians of the last days and the weeks before, every so many hours, twice as long by night."""
    rng = np.random.default_rng(seed)
    for ago in range(0, 24 * REACH, every):
        hour = (NOON - ago) % 24
        for bucket in range(buckets):
            usual = (1 + bucket) * (2.0 if hour < 6 else 1.0) * rng.lognormal(0.0, 0.1)
            yield Timed(ago / 24, hour, str(bucket), slower(ago / 24) * usual)


def verdict(slower: Slower, **how: object) -> Verdict:
    found = latency_finding({"ttft": moved(list(hourly(slower, **how)))})  # type: ignore[arg-type]
    assert found is not None
    return found.verdict


def lately(days: float, by: float) -> Slower:
    return lambda ago: by if ago < days else 1.0


def busy(*days: int) -> Slower:
    return lambda ago: 2.0 if ago // 1 in days else 1.0


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
        (lambda ago: 0.5 if ago < 1 else 2.0 if ago < DAYS else 1.0, Verdict.INCONCLUSIVE),
        # What was busy in the weeks before.
        (busy(5, 9, 17), Verdict.OK),
    ],
)
def test_what_holds_for_three_days_and_by_more_than_a_fifth_is_suspect(slower: Slower, said: Verdict) -> None:
    assert verdict(slower) is said


def test_one_check_a_night_tells_it_after_three_nights() -> None:
    nightly = {"every": 24, "buckets": 3}

    assert verdict(lately(DAYS, 1.5), **nightly) is Verdict.SUSPECT
    assert verdict(lately(1, 1.5), **nightly) is not Verdict.SUSPECT


def test_days_that_differ_as_a_whole_are_seldom_taken_for_a_change() -> None:
    def differing(seed: int) -> Slower:
        of_day = np.random.default_rng(seed).lognormal(0.0, 0.2, REACH)
        return lambda ago: float(of_day[int(ago)])

    said = [verdict(differing(seed), every=4, seed=seed) for seed in range(100)]

    assert said.count(Verdict.SUSPECT) <= 4


def test_the_finding_says_what_moved_and_by_how_much() -> None:
    found = latency_finding(
        {
            "ttft": moved(list(hourly(lately(DAYS, 1.5)))),
            "tpot": moved(list(hourly(lately(0, 1.0), seed=1))),
            "other": None,
        }
    )

    assert found is not None
    assert re.fullmatch(r"ttft \+(4[5-9]|5[0-5])% for 3 days", found.reason)
    assert found.adjusted_p is not None
    assert found.adjusted_p < 1e-4


def test_with_too_few_hours_in_common_nothing_is_said() -> None:
    everything = list(hourly(lately(DAYS, 3.0)))
    young = [one for one in everything if one.days < DAYS + 0.4]
    other_hours = [one for one in everything if (one.days < DAYS) == (one.hour == 3)]

    assert moved(young) is None
    assert moved(other_hours) is None
    assert moved([]) is None
    assert latency_finding({"ttft": None}) is None
