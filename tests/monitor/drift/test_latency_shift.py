from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from monitor.drift.latency_shift import Hour, latency_shift

seconds = st.lists(st.integers(1, 30).map(lambda tenths: tenths / 10), min_size=1, max_size=12)


def drawn(rng: np.random.Generator, n: int, hour: int, slower: float = 1.0) -> np.ndarray:
    """Times that are longer by day, by as much as a third."""
    return np.asarray(slower * (1 + hour / 72) * rng.lognormal(-1.0, 0.4, n))


@settings(max_examples=50, deadline=None)
@given(seconds, seconds)
def test_one_hour_is_mann_and_whitneys(baseline: list[float], new: list[float]) -> None:
    found = latency_shift([Hour(np.array(baseline), np.array(new))])
    assert found is not None
    if len({*baseline, *new}) == 1:
        assert (found.p, found.shift) == (1.0, 0.0)
        return
    expected = mannwhitneyu(new, baseline, use_continuity=False, method="asymptotic").pvalue
    assert found.p == pytest.approx(expected, rel=1e-6)
    assert found.interval.low <= found.shift <= found.interval.high


def test_the_shift_is_the_median_of_all_differences() -> None:
    rng = np.random.default_rng(0)
    baseline, new = drawn(rng, 21, 0), drawn(rng, 9, 0, slower=1.3)
    found = latency_shift([Hour(baseline, new)])
    assert found is not None
    assert found.shift == pytest.approx(np.expm1(np.median(np.subtract.outer(np.log(new), np.log(baseline)))))


def test_hours_that_differ_are_no_shift() -> None:
    rng = np.random.default_rng(0)
    # Nearly all new streams ran at the slowest hour.
    hours = [Hour(drawn(rng, 200, 0), drawn(rng, 20, 0)), Hour(3 * drawn(rng, 20, 0), 3 * drawn(rng, 200, 0))]
    apart = latency_shift(hours)
    together = latency_shift(
        [Hour(np.concatenate([h.baseline for h in hours]), np.concatenate([h.new for h in hours]))]
    )
    assert apart is not None
    assert together is not None
    assert apart.p > 0.01
    assert together.moved(1e-4)
    assert not apart.moved(1e-4)


def test_unchanged_times_are_called_no_more_often_than_said_and_the_interval_holds_the_shift() -> None:
    rng = np.random.default_rng(0)
    called, held = [], []
    for _ in range(200):
        found = latency_shift([Hour(drawn(rng, 14, h), drawn(rng, 4, h, slower=1.25)) for h in range(0, 24, 3)])
        unchanged = latency_shift([Hour(drawn(rng, 14, h), drawn(rng, 4, h)) for h in range(0, 24, 3)])
        assert found is not None
        assert unchanged is not None
        called.append(unchanged.p <= 0.1)
        held.append(found.interval.low <= 0.25 <= found.interval.high)
    assert np.mean(called) <= 0.1 + 3 * np.sqrt(0.09 / 200)
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize(("slower", "moved"), [(1.1, False), (0.87, False), (1.5, True), (0.6, True)])
def test_a_sure_shift_of_less_than_a_fifth_is_no_matter(slower: float, moved: bool) -> None:
    rng = np.random.default_rng(0)
    found = latency_shift([Hour(drawn(rng, 1_200, 0), drawn(rng, 400, 0, slower))])
    assert found is not None
    assert found.p < 1e-4
    assert found.moved(1e-4) is moved


def test_what_cannot_be_compared_is_left_out() -> None:
    nothing = np.array([])
    assert latency_shift([Hour(nothing, np.array([1.0])), Hour(np.array([1.0]), nothing)]) is None
    with pytest.raises(ValueError, match="above 0"):
        latency_shift([Hour(np.array([0.0]), np.array([1.0]))])
