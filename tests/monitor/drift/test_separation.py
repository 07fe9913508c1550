from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.simulated.fleets import Backends, Lawful
from monitor.drift.separation import Scatter, Split, fitted, halved, log_e

RNG = np.random.default_rng(0)


def split(scale: float, share: float = 0.3) -> Split:
    return Split(np.array([1.0, 1.0]), np.zeros(2), np.array([0.5, 0.5]), scale, share)


def answers(chances: list[float], lawful: Lawful, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    asked, _ = Backends.of(rng, len(chances), 0.071, prompts=1).asked(rng, lawful, chances, count)
    return asked["prompt 0"].values, asked["prompt 0"].block


@settings(max_examples=60)
@given(st.floats(1e-3, 3.0), st.floats(0.0, 1.0))
def test_no_falling_density_wins(scale: float, share: float) -> None:
    """Each is a mixture of uniform ones on [0, θ] (Khinchine), and under these the mean factor is at most 1."""
    factors = split(scale, share).factors
    means = np.cumsum(factors) / np.arange(1, factors.size + 1)
    assert means.max() <= 1.0 + 1e-9
    assert factors.min() > 0.0


def test_what_lies_beyond_the_reach_or_is_missing_counts_nothing() -> None:
    one = split(0.1)
    assert one.logs(np.array([one.reach, 1e9, np.nan, np.inf])).tolist() == [0.0] * 4
    assert one.logs(np.array([-1.0])) == one.logs(np.array([1.0])) > 0.0


def test_a_gap_between_two_clusters_wins_and_its_middle_loses() -> None:
    one = split(0.05)
    assert one.logs(np.array([1.0]))[0] > 0.3
    assert one.logs(np.array([0.5]))[0] < -1.0


@settings(max_examples=40)
@given(st.lists(st.floats(-5.0, 5.0), min_size=4, max_size=9, unique=True))
def test_halves_are_the_best_of_all_ways_to_cut_a_line(places: list[float]) -> None:
    values = np.array(places)
    least = 2 if values.size >= 8 else 1

    def within(upper: np.ndarray) -> float:
        return sum(float(((side - side.mean()) ** 2).sum()) for side in (values[upper], values[~upper]))

    ways = []
    for size in range(least, values.size - least + 1):
        for chosen in combinations(range(values.size), size):
            upper = np.zeros(values.size, dtype=bool)
            upper[list(chosen)] = True
            ways.append(within(upper))
    assert within(halved(values)) <= min(ways) + 1e-9


@settings(max_examples=30)
@given(st.floats(0.01, 2.0), st.floats(0.0, 2.0), st.integers(1, 6))
def test_lengths_and_axes_are_those_of_the_covariance_of_the_tokens_that_are_there(
    own: float, common: float, seen: int
) -> None:
    scatter = Scatter(own, common)
    residual = RNG.standard_normal(6)
    covariance = own**2 * np.eye(6) + common**2
    assert scatter.whitened(residual) == pytest.approx(np.linalg.solve(covariance, residual))
    there = residual[:seen]
    expected = there @ np.linalg.solve(covariance[:seen, :seen], there)
    missing = np.concatenate([there, np.full(6 - seen, np.nan)])
    assert scatter.squared(missing) == pytest.approx(expected)


def test_scatter_is_measured_past_a_few_wild_answers_and_is_never_below_the_enrolled_noise() -> None:
    rng = np.random.default_rng(1)
    residuals = 0.02 * rng.standard_normal((400, 20)) + 0.03 * rng.standard_normal((400, 1))
    residuals[:20] *= 50.0
    found = Scatter.of(residuals, 0.0)
    assert found.own == pytest.approx(0.02, rel=0.15)
    assert found.common == pytest.approx(0.03, rel=0.15)
    floored = Scatter.of(residuals * 1e-3, 0.05)
    assert np.hypot(floored.own, floored.common) == pytest.approx(0.05, rel=0.01)


def test_places_on_the_axis_do_not_hang_on_which_tokens_are_missing() -> None:
    one = Split(np.ones(4), np.array([-1.0, -2.0, -3.0, -4.0]), np.full(4, 0.5), 0.1, 0.5)
    first, second = one.middle - 0.25, one.middle + 0.25
    second[3] = np.nan
    assert one.scores(np.stack([first, second])).tolist() == pytest.approx([-0.5, 0.5])
    first[:3] = np.nan
    assert np.isnan(one.scores(first[np.newaxis])[0])


@pytest.mark.parametrize(
    "lawful",
    [Lawful(0.03), Lawful(0.03, tails=2.0), Lawful(0.03, daily=0.06, uneven=1.0)],
    ids=["normal", "wild", "days"],
)
def test_one_stack_wins_nothing_on_average(lawful: Lawful) -> None:
    values = [np.exp(log_e(*answers([1.0], lawful, 60, seed), 0.03, seed=seed)) for seed in range(20)]
    assert np.mean(values) <= 1.0 + 3.0 * np.std(values) / np.sqrt(20)
    assert max(values) < 20.0


def test_two_stacks_win_and_more_answers_win_more() -> None:
    few, many = (log_e(*answers([0.6, 0.4], Lawful(0.03), count), 0.03) for count in (40, 120))
    assert np.log(10.0) < few < many
    assert many > np.log(1_000.0)


def test_a_change_between_blocks_is_no_mixture() -> None:
    values, block = answers([1.0], Lawful(0.03), 100)
    later = block >= 7
    values[later] += 0.2 * np.sign(RNG.standard_normal(20))
    assert log_e(values, block, 0.03) < 0.5


def test_the_same_answers_give_the_same_value_to_the_last_bit() -> None:
    values, block = answers([0.6, 0.4], Lawful(0.03), 40)
    assert log_e(values, block, 0.03) == log_e(values.copy(), block.copy(), 0.03)


def test_fewer_than_four_answers_are_no_two_stacks() -> None:
    values, block = answers([0.5, 0.5], Lawful(0.03), 14)
    assert fitted(values[:3], block[:3], 0.03) is None
    assert log_e(values[:3], block[:3], 0.03) == 0.0
