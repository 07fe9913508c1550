from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.rates import clustered_rate, rate, wilson


def test_nothing_asked_is_neither_zero_nor_one() -> None:
    for empty in (rate(0, 0, excluded={"length": 3}), clustered_rate([0, 0], [0, 0], excluded={"length": 3})):
        assert (empty.value, empty.low, empty.high) == (None, None, None)
        assert empty.excluded == {"length": 3}


@pytest.mark.parametrize(("successes", "trials", "low"), [(120, 120, 0.969), (200, 200, 0.981), (1000, 1000, 0.996)])
def test_no_failure_shows_only_so_much(successes: int, trials: int, low: float) -> None:
    assert rate(successes, trials).low == pytest.approx(low, abs=5e-4)


def test_published_intervals() -> None:
    # Shares of valid calls of two engines of K2-Vendor-Verifier's table, and a language metric of ten answers.
    assert wilson(1856, 2128).low == pytest.approx(0.857, abs=1e-3)
    assert wilson(1856, 2128).high == pytest.approx(0.886, abs=1e-3)
    assert wilson(1825, 1827).low == pytest.approx(0.996, abs=1e-3)
    assert (wilson(4, 10).low, wilson(4, 10).high) == pytest.approx((0.17, 0.69), abs=5e-3)


@settings(max_examples=50)
@given(st.integers(1, 500), st.floats(0.0, 1.0))
def test_the_interval_holds_the_value_inside_zero_and_one(trials: int, share: float) -> None:
    successes = round(share * trials)
    found = rate(successes, trials)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=30))
def test_clusters_never_narrow_the_interval(prompts: list[tuple[int, int]]) -> None:
    won = [min(pair) for pair in prompts]
    asked = [max(pair) for pair in prompts]
    clustered, plain = clustered_rate(won, asked), rate(sum(won), sum(asked))
    assert clustered.value == plain.value
    if clustered.low is not None and clustered.high is not None and plain.low is not None and plain.high is not None:
        assert clustered.low <= plain.low + 1e-12
        assert clustered.high >= plain.high - 1e-12


def test_copies_of_one_answer_count_once() -> None:
    assert clustered_rate([8] * 120, [8] * 120).low == rate(120, 120).low
    assert clustered_rate([5], [5]).low == rate(1, 1).low


@pytest.mark.parametrize("correlated", [False, True])
def test_the_interval_holds_the_truth_nineteen_times_of_twenty(correlated: bool) -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(1_000):
        p = rng.beta(1.8, 0.2, size=60) if correlated else np.full(60, 0.9)
        found = clustered_rate(rng.binomial(8, p), np.full(60, 8))
        covered += found.low is not None and found.high is not None and found.low <= 0.9 <= found.high
    assert 0.93 <= covered / 1_000 <= 0.98
