from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.deviations import capped, caps, fitted_scale, mean_deviations, noise_ratio

nats = st.floats(0.0, 50.0)


def test_tokens_that_say_nothing_are_no_part_of_the_mean() -> None:
    found = mean_deviations(np.array([[-1.0, 3.0, np.nan], [np.nan, np.nan, np.nan]]))
    assert found == pytest.approx([2.0, np.nan], nan_ok=True)


def test_a_cap_is_four_times_what_one_lawful_answer_in_a_hundred_exceeds() -> None:
    found = np.abs(np.random.default_rng(0).normal(0.0, 0.05, (2_000, 3)))
    assert np.mean(found > caps(found) / 4.0) == pytest.approx(0.01, abs=0.001)


def test_where_answers_do_not_differ_the_cap_is_what_two_builds_of_an_engine_make_of_it() -> None:
    # Their deviation scores a quarter: 0.01 nat.
    assert caps(np.zeros((200, 2))) == pytest.approx([0.04, 0.04])


def test_answers_that_cannot_be_compared_are_no_part_of_a_cap() -> None:
    found = np.linspace(0.0, 1.0, 101)
    assert caps(np.append(found, np.nan)) == pytest.approx(caps(found))


@given(nats, nats, st.floats(0.04, 50.0))
def test_a_score_grows_with_the_deviation_and_stops_at_one(one: float, more: float, cap: float) -> None:
    low, high = capped(np.array([one, one + more]), cap)
    assert 0.0 <= low <= high <= 1.0
    assert capped(np.array([cap]), cap)[0] == 1.0


@given(st.floats(0.3, 3.5), st.lists(st.floats(-20.0, -0.1), min_size=1, max_size=20))
def test_the_scale_is_one_over_the_temperature(scale: float, odds: list[float]) -> None:
    before = np.array([*odds, np.nan, -3.0])
    now = np.append(scale * before[:-1], np.nan)
    assert fitted_scale(now, before) == pytest.approx(scale)


def test_without_log_odds_there_is_no_scale_and_none_is_absurd() -> None:
    assert fitted_scale(np.array([np.nan]), np.array([1.0])) == 1.0
    assert fitted_scale(np.array([-100.0]), np.array([-1.0])) == 4.0
    assert fitted_scale(np.array([5.0]), np.array([-1.0])) == 0.25


def test_the_noise_ratio_is_that_of_simulated_normal_values() -> None:
    rng = np.random.default_rng(0)
    noise, shift = rng.normal(0.0, 0.06, 200_000), rng.normal(0.0, 0.08, 200_000)
    before, target = np.abs(noise).mean(), np.abs(shift).mean()
    assert noise_ratio(before, target) == pytest.approx(np.abs(noise + shift).mean() / before, rel=0.01)
    assert noise_ratio(0.0, 0.071) == np.inf
