"""Ranks among the reference's answers: uniform exactly where nothing differs, and one answer to a prompt."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.simulated.texts import model, noisy, rows, sides, tempered
from monitor.drift.answers import Sides
from monitor.drift.observation import FloatArray
from monitor.drift.rank_uniformity import omega_p, omega_squared, smoothed_ranks, uniformity


@given(st.lists(st.integers(0, 3), min_size=2, max_size=7), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_a_rank_is_uniform_whichever_answer_is_the_endpoints(scores: list[int], seed: int) -> None:
    """Of any scores, ties among them: each is the endpoint's as often, 400 times."""
    values = np.array(scores, dtype=np.float64)
    own = np.repeat(values, 400)
    among = np.repeat([np.delete(values, place) for place in range(len(values))], 400, axis=0)
    ranks = np.sort(smoothed_ranks(own, among, np.random.default_rng(seed)))
    assert ((ranks > 0.0) & (ranks <= 1.0)).all()
    # Kolmogorov's distance of n uniform values is above 3 / √n once in 30 million times.
    assert np.abs(ranks - (np.arange(len(ranks)) + 0.5) / len(ranks)).max() < 3.0 / np.sqrt(len(ranks))


def test_ranks_of_an_answer_above_below_and_beside_all_others() -> None:
    among = np.array([[1.0, 2.0, 3.0, np.nan]] * 3)
    high, low, beside = smoothed_ranks(np.array([9.0, 0.0, 2.0]), among, np.random.default_rng(0))
    assert 0.75 < high <= 1.0
    assert 0.0 < low <= 0.25
    assert 0.25 < beside <= 0.75


def test_omega_squared_of_three_ranks() -> None:
    expected = 1 / 36 + (1 / 6 - 0.1) ** 2 + 0.1**2 + (5 / 6 - 0.9) ** 2
    assert float(omega_squared(np.array([0.1, 0.4, 0.9]))) == pytest.approx(expected)


@pytest.mark.parametrize("n", [10, 100])
def test_the_drawn_null_is_that_of_cramer_and_von_mises(n: int) -> None:
    from scipy.stats import cramervonmises

    for seed in range(5):
        ranks = np.sort(np.random.default_rng(seed).random(n) ** (1.0 + seed / 5.0))
        omega = float(omega_squared(ranks))
        known = float(cramervonmises(ranks, "uniform").pvalue)
        assert omega_p(omega, n, 40_000, np.random.default_rng(seed)) == pytest.approx(known, rel=0.1, abs=0.004)


def test_p_falls_with_omega_squared_and_never_to_nothing() -> None:
    values = [omega_p(omega, 20, 999, np.random.default_rng(1)) for omega in (0.0, 0.1, 0.3, 0.8, 9.0)]
    assert values == sorted(values, reverse=True)
    assert (values[0], values[-1]) == (1.0, 0.001)


def p_of(found: Sides, seed: int) -> float:
    return uniformity(found, np.random.default_rng(seed), draws=999).p


def test_false_alarms_are_as_rare_as_is_said() -> None:
    of = model(20, seed=1)
    p = np.array([p_of(sides(20, 1, 12, seed=seed, of=of, tokens=12), seed) for seed in range(300)])
    for level in (0.01, 0.05, 0.2):
        assert (p <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / 300)


def test_a_lower_temperature_is_seen_in_a_hundred_answers() -> None:
    found = uniformity(sides(100, 1, 100, seed=3, change=tempered(0.9)), np.random.default_rng(3))
    assert found.p <= 0.001
    assert found.mean < 0.5
    assert (found.prompts, found.among) == (100, 100)
    assert str(found).startswith("100 answers rank at 0.")


def test_answers_of_coarse_weights_are_of_rarer_tokens() -> None:
    found = uniformity(sides(100, 1, 100, seed=4, change=noisy(2.0)), np.random.default_rng(4))
    assert found.p <= 0.001
    assert found.mean > 0.5


def test_the_further_the_change_the_larger_omega_squared() -> None:
    found = [
        uniformity(sides(100, 1, 60, seed=5, change=tempered(at)), np.random.default_rng(5), draws=9).omega_squared
        for at in (1.0, 0.9, 0.7, 0.4)
    ]
    assert found == sorted(found)


def test_only_the_first_answer_to_each_prompt_counts() -> None:
    one, several = sides(15, 1, 12, seed=6), sides(15, 4, 12, seed=6)
    first = Sides(rows(several.endpoint, np.arange(0, 60, 4)), several.reference)
    assert uniformity(several, np.random.default_rng(6), 99) == uniformity(first, np.random.default_rng(6), 99)
    assert (
        uniformity(several, np.random.default_rng(6), 99).prompts == uniformity(one, np.random.default_rng(6)).prompts
    )


def test_ten_answers_to_a_prompt_would_share_their_luck() -> None:
    """Why only one counts: ranked all, with few answers of the reference, ω² alarms far too often."""
    alarms = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        scores, among = rng.normal(size=(10, 10)), rng.normal(size=(10, 5))
        ranks = smoothed_ranks(scores.ravel(), np.repeat(among, 10, axis=0), rng)
        alarms.append(omega_p(float(omega_squared(np.sort(ranks))), 100, 999, rng) <= 0.05)
    assert np.mean(alarms) > 0.15


def test_the_order_of_prompts_and_of_the_references_answers_says_nothing() -> None:
    found, rng = sides(15, 1, 12, seed=8), np.random.default_rng(8)
    turned = Sides(
        rows(found.endpoint, rng.permutation(15)), rows(found.reference, rng.permutation(len(found.reference)))
    )
    assert uniformity(turned, np.random.default_rng(1), 99) == uniformity(found, np.random.default_rng(1), 99)


def test_a_prompt_without_the_other_side_is_left_out() -> None:
    found = sides(15, 1, 12, seed=9)
    fewer = Sides(found.endpoint, rows(found.reference, np.flatnonzero(found.reference.prompts != 4)))
    assert uniformity(fewer, np.random.default_rng(0), 9).prompts == 14


def shifted(scores: FloatArray, by: float) -> FloatArray:
    return np.asarray(scores + by)


@given(st.floats(-2.0, 2.0), st.integers(0, 20))
@settings(max_examples=25, deadline=None)
def test_a_higher_score_has_no_lower_rank(by: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, among = rng.normal(size=8), rng.normal(size=(8, 9))
    lower, higher = sorted((0.0, by))
    low, high = (smoothed_ranks(shifted(scores, by), among, np.random.default_rng(0)) for by in (lower, higher))
    assert (low <= high).all()
