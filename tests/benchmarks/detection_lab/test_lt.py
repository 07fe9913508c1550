"""LT against numbers worked out by hand, its null, and its authors' rule over time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from benchmarks.detection_lab.rivals import lt

NAN = np.nan


def test_statistic_is_the_mean_distance_of_the_means_with_the_smallest_listed_for_what_is_missing() -> None:
    first = np.array([[-1.0, -2.0, NAN], [-3.0, -2.0, NAN]])
    second = np.array([[-1.0, NAN, -4.0]])
    # Means: -2, -2, and -2.5 of the imputed (-2, -3); against -1, -4 imputed, -4.
    assert lt.statistic(first, second) == pytest.approx((1.0 + 2.0 + 1.5) / 3)


def test_tokens_that_nobody_lists_do_not_count() -> None:
    first, second = np.array([[-1.0, NAN]]), np.array([[-2.0, NAN]])
    assert lt.statistic(first, second) == pytest.approx(1.0)


def test_many_pairs_at_once_are_what_each_pair_gives() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(5, 4, 7)), rng.normal(size=(5, 3, 7))
    first[:, 1, 2] = NAN
    alone = [float(lt.statistic(*pair)) for pair in zip(first, second, strict=True)]
    assert lt.statistic(first, second) == pytest.approx(alone)


@given(st.integers(0, 2**32 - 1), st.floats(-5.0, 5.0))
@settings(max_examples=25, deadline=None)
def test_order_of_responses_and_sides_and_a_common_shift_do_not_matter(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(6, 5)), rng.normal(size=(4, 5))
    seen = lt.statistic(first, second)
    assert lt.statistic(rng.permutation(first), second) == pytest.approx(seen)
    assert lt.statistic(second, first) == pytest.approx(seen)
    assert lt.statistic(first + shift, second + shift) == pytest.approx(seen)


def test_p_values_of_an_unchanged_endpoint_are_uniform() -> None:
    rng = np.random.default_rng(1)
    found = [lt.p_value(*rng.normal(size=(2, 10, 8)), draws=99, rng=rng) for _ in range(200)]
    assert min(found) >= 0.01
    assert kstest(found, "uniform").pvalue > 1e-3


def test_p_value_of_a_far_endpoint_is_one_draw_of_all() -> None:
    rng = np.random.default_rng(2)
    first = rng.normal(size=(10, 8))
    assert lt.p_value(first, first + 9.0, draws=199, rng=rng) == pytest.approx(1 / 200)


def test_series_compares_the_windows_before_and_after_each_time() -> None:
    responses = np.concatenate([np.zeros((30, 2)), np.ones((30, 2))])
    scores = lt.series(responses, window=10)
    assert len(scores) == 60 - 2 * 10 + 1
    # At time 30 the ten before are all old, the ten from it on all new.
    assert scores[30 - 10] == 1.0
    assert scores[0] == scores[-1] == 0.0
    assert scores[25 - 10] == pytest.approx(0.5)


def test_rule_needs_both_the_deviations_and_a_nat() -> None:
    rng = np.random.default_rng(3)
    scores = 0.1 + 0.01 * rng.normal(size=200)
    scores[180] = 0.5
    assert lt.standardised(scores)[180] > 12
    assert not lt.alarms(scores).any()
    scores[181] = 1.5
    assert np.flatnonzero(lt.alarms(scores)).tolist() == [181]


def test_rule_is_silent_until_there_is_a_history() -> None:
    assert not lt.alarms(np.array([0.1] * 147 + [9.0])).any()


def test_a_history_that_never_moved_makes_any_rise_infinitely_far() -> None:
    assert lt.standardised(np.array([0.125] * 161 + [2.0]))[-2:].tolist() == [0.0, np.inf]
