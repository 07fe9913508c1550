"""B3IT against numbers worked out by hand, its null, and its authors' rule over days."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.detection_lab.rivals import b3it


def test_statistic_is_the_mean_total_variation() -> None:
    reference, batch = np.array([[50, 50, 0], [10, 0, 0]]), np.array([[3, 6, 1], [0, 0, 4]])
    assert b3it.total_variation(reference, batch) == pytest.approx([0.2, 1.0])
    assert b3it.statistic(reference, batch) == pytest.approx(0.6)


def test_sizes_of_the_samples_do_not_matter_to_the_statistic() -> None:
    reference, batch = np.array([[3, 7]]), np.array([[6, 4]])
    assert b3it.statistic(reference * 5, batch) == pytest.approx(b3it.statistic(reference, batch))
    assert b3it.statistic(batch, reference) == pytest.approx(b3it.statistic(reference, batch))


def test_false_alarms_keep_the_level_and_a_swap_has_the_smallest_p_value() -> None:
    rng = np.random.default_rng(0)
    chances = np.array([[0.5, 0.5, 0.0], [0.2, 0.7, 0.1], [0.9, 0.05, 0.05]])
    found = [b3it.p_value(rng.multinomial(50, chances), rng.multinomial(10, chances), 99, rng) for _ in range(200)]
    # 20 are expected at most, with a standard deviation of 4.2.
    assert sum(p <= 0.1 for p in found) <= 33
    swapped = rng.multinomial(10, [[0.0, 0.0, 1.0]] * 3)
    assert b3it.p_value(rng.multinomial(50, chances), swapped, 99, rng) == pytest.approx(0.01)


def test_simulated_swap_is_seen_as_often_as_its_chances_say() -> None:
    """p1 = .9 / .1 becomes p2 = .1 / .9: the mean distance of ten answers from many is .8, and its error of the mean of
    20 inputs is √(.9 · .1 / 10 / 20)."""
    rng = np.random.default_rng(1)
    before, after = np.array([[0.9, 0.1]] * 20), np.array([[0.1, 0.9]] * 20)
    found = b3it.statistic(rng.multinomial(100_000, before), rng.multinomial(10, after))
    assert found == pytest.approx(0.8, abs=4 * np.sqrt(0.9 * 0.1 / 10 / 20))


def test_balance_is_the_second_by_the_first() -> None:
    assert b3it.balance(np.array([[60, 30, 10], [100, 0, 0]])).tolist() == [0.5, 0.0]


def test_rule_fires_on_the_third_far_day() -> None:
    daily = np.full(30, 0.05)
    daily[::2] = 0.07
    daily[20:24] = 0.9
    assert np.flatnonzero(b3it.alarms(daily)).tolist() == [22, 23]


def test_one_far_day_or_a_small_shift_or_a_short_past_fires_nothing() -> None:
    daily = np.tile([0.05, 0.07], 15)
    daily[20] = 0.9
    assert not b3it.alarms(daily).any()
    shifted = np.tile([0.05, 0.07], 15)
    shifted[20:] += 0.19
    assert not b3it.alarms(shifted).any()
    assert not b3it.alarms(np.array([0.05, 0.07] * 5 + [0.9] * 3)[:10]).any()
