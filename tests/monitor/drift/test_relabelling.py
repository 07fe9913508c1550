from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.relabelling import Pool, p_value, splits, standardise_pool


@given(total=st.integers(2, 8), data=st.data())
def test_splits_are_all_choices_with_the_truth_first(total: int, data: st.DataObject) -> None:
    new = sorted(data.draw(st.sets(st.integers(0, total - 1), min_size=1, max_size=total - 1)))
    ways = splits(total, new, np.random.default_rng(0))
    assert ways.members[0].tolist() == new
    assert {tuple(row) for row in ways.members.tolist()} == set(combinations(range(total), len(new)))


def test_many_splits_are_sampled_and_keep_the_truth_first() -> None:
    ways = splits(40, list(range(20)), np.random.default_rng(0))
    assert ways.members[0].tolist() == list(range(20))
    assert len(ways) == 4_096
    assert all(len(set(row)) == 20 for row in ways.members[:100].tolist())


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=50), st.floats(-5, 5))
def test_p_value_is_never_zero_and_counts_ties(relabelled: list[float], observed: float) -> None:
    p = p_value(observed, np.array(relabelled))
    assert 1 / (len(relabelled) + 1) <= p <= 1.0
    assert p_value(max(relabelled), np.array(relabelled)) > 1 / (len(relabelled) + 1)


def test_p_value_adds_one_to_both_counts() -> None:
    assert p_value(3.0, np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx((1 + 2) / (4 + 1))


def test_pool_statistics_do_not_depend_on_units() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(12, 2))
    new = np.arange(12) >= 6
    one = standardise_pool(Pool(scores, new), 500, np.random.default_rng(2))
    other = standardise_pool(Pool(scores * 1000.0, new), 500, np.random.default_rng(2))
    assert np.allclose(one.observed, other.observed)
    assert np.allclose(one.relabelled, other.relabelled)


def test_equal_scores_give_no_evidence() -> None:
    test = standardise_pool(Pool(np.ones((8, 1)), np.arange(8) >= 4), 100, np.random.default_rng(0))
    assert p_value(float(test.observed[0]), test.relabelled[:, 0]) == 1.0


def test_small_pool_gives_the_exact_share_of_relabellings() -> None:
    scores = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    test = standardise_pool(Pool(scores, np.arange(6) >= 3), 200_000, np.random.default_rng(0))
    assert p_value(float(test.observed[0]), test.relabelled[:, 0]) == pytest.approx(1 / 20, abs=0.002)
