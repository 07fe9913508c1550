from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.simulated.lists import Lists
from monitor.drift.comparison import compared
from monitor.drift.fingerprint import EnrolledPrompt, Enrolment, enrol
from monitor.drift.fingerprint_diagnosis import Diagnosis, diagnose, divergences
from monitor.drift.levels import DAY
from monitor.drift.listing import Listing

HALF_NORMAL = np.sqrt(2.0 / np.pi)


def of_shares(*shares: float) -> Enrolment:
    """Enrolled without noise, at these shares of tokens a, b, …"""
    tokens = tuple(bytes([97 + place]) for place in range(len(shares)))
    means = tuple(np.log(shares).tolist())
    return Enrolment((EnrolledPrompt("p", tokens, means, len(shares), 200, 0.04, 0.0, 0.04, 0.0),), 0.0, 1.0)


def diagnosed(enrolment: Enrolment, listings: list[Listing]) -> Diagnosis:
    found = diagnose(enrolment, listings)
    assert found is not None
    return found


def listing(*values: float, at: float = 0.0) -> Listing:
    return Listing("p", at, tuple(bytes([97 + place]) for place in range(len(values))), np.array(values))


def test_it_says_how_far_and_which_way_answers_moved() -> None:
    found = diagnosed(of_shares(0.6, 0.3), [listing(np.log(0.6) + 0.1, np.log(0.3) - 0.3)])
    assert found.deviation == pytest.approx(0.2)
    assert found.signed == pytest.approx(-0.1)
    assert (found.distinct, found.answers) == (1, 1)


def test_the_divergence_has_a_bucket_for_the_rest() -> None:
    found = diagnosed(of_shares(0.6, 0.3), [listing(*np.log([0.5, 0.2]))])
    assert found.kl == pytest.approx(0.6 * np.log(0.6 / 0.5) + 0.3 * np.log(0.3 / 0.2) + 0.1 * np.log(0.1 / 0.3))


shares = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4).map(lambda some: np.array(some) / sum(some))


@given(shares, shares, st.integers(1, 3))
def test_what_is_not_listed_only_lowers_the_divergence(before: np.ndarray, now: np.ndarray, listed: int) -> None:
    enrolment = of_shares(*np.sort(before)[:0:-1])
    now = np.sort(now)[::-1]
    whole = divergences(compared(enrolment, [listing(*np.log(now[:3]))]))[0]
    part = divergences(compared(enrolment, [listing(*np.log(now[:listed]))]))[0]
    assert 0.0 <= part <= whole + 1e-9


def test_the_noise_floor_is_told_apart_by_how_far_answers_lie_apart() -> None:
    rng = np.random.default_rng(0)
    truth, found = np.log([0.5, 0.3, 0.1]), []
    for day in range(60):
        of_day = rng.normal(0.0, 0.08, 3)
        for hour in range(0, 24, 4):
            of_hour = rng.normal(0.0, 0.04, 3)
            for second in (0.0, 20.0):
                values = truth + of_day + of_hour + rng.normal(0.0, 0.02, 3)
                found.append(listing(*values, at=day * DAY + hour * 3_600.0 + second))
    floor = diagnosed(of_shares(0.5, 0.3, 0.1), found).floor
    assert floor.minute == pytest.approx(0.02 * HALF_NORMAL, rel=0.1)
    assert floor.hours == pytest.approx(np.hypot(0.02, 0.04) * HALF_NORMAL, rel=0.5)
    assert floor.days == pytest.approx(np.sqrt(0.02**2 + 0.04**2 + 0.08**2) * HALF_NORMAL, rel=0.15)


def test_hours_within_a_day_do_not_hold_what_days_differ_by() -> None:
    noon = [listing(-0.5 - 0.1 * day, -2.0, at=day * DAY + hour * 3_600.0) for day in range(5) for hour in (9, 11)]
    floor = diagnosed(of_shares(0.6, 0.1), noon).floor
    assert floor.minute is None
    assert floor.days == pytest.approx(0.1 / 2.0 / np.sqrt(2.0))


def test_without_repeats_there_is_no_floor() -> None:
    found = diagnosed(of_shares(0.6, 0.1), [listing(-0.5, -2.0)])
    assert (found.floor.minute, found.floor.hours, found.floor.days) == (None, None, None)


def test_answers_that_are_the_same_to_the_bit_are_one_vector() -> None:
    same = [listing(-0.5, -2.0, at=float(second)) for second in range(5)]
    found = diagnosed(of_shares(0.6, 0.1), [*same, listing(-0.5, -2.001, at=9.0)])
    assert (found.distinct, found.answers) == (2, 6)


def test_temperature_is_the_scale() -> None:
    rng = np.random.default_rng(1)
    lists = Lists.of(rng, 0.03)
    enrolment = enrol(chain.from_iterable(lists.hours(rng, 240)))
    assert isinstance(enrolment, Enrolment)
    found = diagnosed(enrolment, lists.at_temperature(0.8).hours(rng, 1)[0])
    assert found.scale.value == pytest.approx(1.25, abs=0.02)
    assert found.scale.after < 0.2 * found.scale.before
    assert found.scale.explains(enrolment.odds_noise or 0.0)
    still = diagnosed(enrolment, lists.hours(rng, 1)[0])
    assert not still.scale.explains(enrolment.odds_noise or 0.0)


def test_of_answers_without_log_probabilities_nothing_is_said() -> None:
    empty = replace(listing(-0.5), tokens=(), logprobs=np.empty(0))
    assert diagnose(of_shares(0.6, 0.1), [empty]) is None
