"""Cases of two weeks, none of them in both: alike while nothing changed, however hard each of them is."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.resplit import dealt
from monitor.drift.strata import Stratum, difference_in_differences, difference_of_shares, fewer, moved

REPEATS = 5
# Cases of each kind in a week; a light run asks two of each.
KINDS, SLOTS, LIGHT = 6, 16, 2


def hardness(rng: np.random.Generator) -> np.ndarray:
    """How often a case of each family succeeds: families differ, and some are seldom answered rightly."""
    return rng.beta(1.2, 0.3, size=(KINDS, SLOTS))


def shares_of(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A case of each family: instances are as different among themselves as families are."""
    odds = np.clip(chances, 1e-3, 1.0 - 1e-3)
    odds = odds / (1.0 - odds) * np.exp(rng.normal(size=chances.shape))
    return np.asarray(rng.binomial(REPEATS, odds / (1.0 + odds)) / REPEATS)


def weeks(rng: np.random.Generator, *, lost: float = 0.0) -> list[Stratum]:
    """A light run of one week, in which so much of all successes is lost, and all cases of another one."""
    families = hardness(rng)
    asked = np.array([rng.choice(SLOTS, LIGHT, replace=False) for _ in range(KINDS)])
    now = shares_of(np.take_along_axis(families, asked, axis=1), rng)
    kept = rng.binomial((now * REPEATS).round().astype(int), 1.0 - lost) / REPEATS
    return [Stratum(*sides) for sides in zip(kept, shares_of(families, rng), strict=True)]


def beside_reference(rng: np.random.Generator, *, harder: float) -> list[Stratum]:
    """Of an endpoint that is its reference, in a week whose cases are harder for both."""
    chances = (rng.beta(2.0, 2.0 + harder, (KINDS, LIGHT)), rng.beta(2.0, 2.0, (KINDS, SLOTS)))
    ours, theirs = ([rng.binomial(REPEATS, one) / REPEATS for one in chances] for _ in range(2))
    now, then = (mine - others for mine, others in zip(ours, theirs, strict=True))
    return [Stratum(*sides) for sides in zip(now, then, strict=True)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=7), st.data())
def test_dealt_sums_are_those_of_all_ways_to_deal(values: list[int], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(values) - 1))
    sums = Counter(map(sum, combinations(values, first)))

    deals = dealt(np.array(values), first)

    told = {int(value): chance for value, chance in zip(deals.values, deals.chances, strict=True) if chance > 1e-12}
    assert told == pytest.approx({value: count / sums.total() for value, count in sums.items()})


def seldom(p: list[float], level: float) -> bool:
    return sum(one <= level for one in p) / len(p) <= level + 2.0 * sqrt(level * (1.0 - level) / len(p))


def false_alarms_are_seldom(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = [weeks(rng) for _ in range(count)]
    held = [beside_reference(rng, harder=2.0) for _ in range(count)]
    for found in ([*map(fewer, drawn)], [*map(moved, drawn)], [*map(moved, held)]):
        assert seldom(found, 0.01)
        assert seldom(found, 0.05)


def test_weeks_of_other_cases_are_seldom_found_to_differ() -> None:
    false_alarms_are_seldom(250, seed=1)


@pytest.mark.soak
def test_weeks_of_other_cases_are_seldom_found_to_differ_in_many_draws() -> None:
    false_alarms_are_seldom(6_000, seed=2)


def holds(drawn: list[bool]) -> bool:
    return bool(np.mean(drawn) >= 0.95 - 2.5 * np.sqrt(0.05 * 0.95 / len(drawn)))


@pytest.mark.parametrize("count", [200, pytest.param(4_000, marks=pytest.mark.soak)])
def test_the_intervals_hold_the_truth_nineteen_times_of_twenty(count: int) -> None:
    rng = np.random.default_rng(count)

    shares = [difference_of_shares(weeks(rng), REPEATS).interval for _ in range(count)]
    held = [difference_in_differences(beside_reference(rng, harder=2.0)).interval for _ in range(count)]

    assert holds([one.low <= 0.0 <= one.high for one in shares])
    assert holds([one.low <= 0.0 <= one.high for one in held])


def test_what_is_harder_for_the_reference_too_is_no_fault_of_the_endpoint() -> None:
    rng = np.random.default_rng(3)
    harder = [beside_reference(rng, harder=8.0) for _ in range(60)]

    assert sum(fewer(one) <= 0.05 for one in harder) <= 6


def test_what_is_lost_in_all_cases_is_found_in_a_few_runs() -> None:
    rng = np.random.default_rng(4)

    found = [fewer(weeks(rng, lost=0.3)) for _ in range(40)]

    assert np.mean(np.array(found) <= 0.01) >= 0.3


def test_an_unbroken_row_of_successes_shows_only_so_much() -> None:
    for cases, least, most in ((10, -0.4, -0.2), (1_000, -0.02, 0.0)):
        right = [Stratum(np.ones(cases), np.ones(10 * cases))]
        same = [Stratum(np.zeros(cases), np.zeros(10 * cases))]

        assert least < difference_of_shares(right, REPEATS).interval.low < most
        assert least < difference_in_differences(same).interval.low < most
        assert fewer(right) == pytest.approx(1.0)
