"""Whitened lengths: χ² while nothing changes, blind to no direction, and not misled by noise that tokens share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.whitened import Whitening, distance, most_telling, relabelled_p

TOKENS = 20


def noisy(rng: np.random.Generator, shape: tuple[int, ...], own: float = 0.02, common: float = 0.02) -> np.ndarray:
    return np.asarray(rng.normal(0.0, own, shape) + rng.normal(0.0, common, (*shape[:-1], 1)))


def known(own: float = 0.02, common: float = 0.02) -> Whitening:
    return Whitening(np.full(TOKENS, own**2), common**2)


seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=30)
@given(seed=seeds, common=st.floats(0.0, 0.1), missing=st.integers(0, 10))
def test_a_length_is_by_the_inverse_of_the_covariance(seed: int, common: float, missing: int) -> None:
    rng = np.random.default_rng(seed)
    own = rng.uniform(1e-4, 1e-3, TOKENS)
    r = rng.normal(0.0, 0.05, TOKENS)
    r[rng.permutation(TOKENS)[:missing]] = np.nan
    there = np.isfinite(r)
    covariance = np.diag(own[there]) + common**2
    by_hand = r[there] @ np.linalg.solve(covariance, r[there])
    assert Whitening(own, common**2).squared(r) == pytest.approx(by_hand, rel=1e-6)


@settings(max_examples=30)
@given(seed=seeds)
def test_the_order_of_tokens_does_not_matter_and_twice_the_shift_is_four_times_as_long(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own, r, order = rng.uniform(1e-4, 1e-3, TOKENS), rng.normal(size=TOKENS), rng.permutation(TOKENS)
    noise = Whitening(own, 1e-4)
    length = float(noise.squared(r))
    assert Whitening(own[order], 1e-4).squared(r[order]) == pytest.approx(length)
    assert noise.squared(-2.0 * r) == pytest.approx(4.0 * length)


def test_parts_of_noise_are_told_apart() -> None:
    found = Whitening.of(noisy(np.random.default_rng(0), (20_000, TOKENS), own=0.02, common=0.05))
    assert np.sqrt(found.own) == pytest.approx(np.full(TOKENS, 0.02), rel=0.03)
    assert np.sqrt(found.common) == pytest.approx(0.05, rel=0.02)
    assert Whitening.of(noisy(np.random.default_rng(1), (20_000, TOKENS), common=0.0)).common < 1e-5


def test_lengths_are_chi_squared_while_nothing_changes() -> None:
    """Mean, variance and the 99 % point of 20 degrees, within four standard errors of 20,000 draws."""
    from scipy.stats import chi2

    rng, trials = np.random.default_rng(2), 20_000
    baseline = noisy(rng, (200, TOKENS))
    # What the means of 200 are off by is in every trial: each trial has means of its own here.
    means = noisy(rng, (trials, 1, TOKENS)) / np.sqrt(200)
    found = distance(noisy(rng, (trials, 10, TOKENS)) - means, Whitening.of(baseline - baseline.mean(axis=0)), 200)
    exact = distance(noisy(rng, (trials, 10, TOKENS)) - means, known(), 200)
    assert exact.mean() == pytest.approx(TOKENS, abs=4.0 * np.sqrt(2.0 * TOKENS / trials))
    assert (exact > chi2.ppf(0.99, TOKENS)).mean() == pytest.approx(0.01, abs=0.003)
    # Its noise is that of 200 answers.
    assert found.mean() == pytest.approx(TOKENS, rel=0.1)


def test_noise_that_all_tokens_share_hides_no_shift_of_some() -> None:
    """Of the same mean |Δ|, a shift back and forth is seen and one of all tokens taken for noise."""
    rng, noise = np.random.default_rng(3), known(own=0.005, common=0.1)
    forth = np.where(np.arange(TOKENS) % 2, 0.02, -0.02)
    assert noise.squared(forth) > 100 * noise.squared(np.full(TOKENS, 0.02))
    answers = noisy(rng, (300, 10, TOKENS), 0.005, 0.1)
    assert (distance(answers + forth, noise, 200) > distance(answers, noise, 200).max()).all()


def test_more_answers_see_less() -> None:
    rng, forth = np.random.default_rng(4), np.where(np.arange(TOKENS) % 2, 0.01, -0.01)
    few, many = (
        float(np.median(distance(noisy(rng, (400, answers, TOKENS)) + forth, known(), 10_000))) for answers in (2, 40)
    )
    assert many > few + 50.0


def test_answers_that_do_not_know_a_token_count_it_less() -> None:
    answers = np.full((4, TOKENS), 0.03)
    fewer = answers.copy()
    fewer[1:, 0] = np.nan
    none = answers.copy()
    none[:, 0] = np.nan
    noise = known(common=0.0)
    all_, some, nothing = (float(distance(each, noise, 100)) for each in (answers, fewer, none))
    assert all_ > some > nothing


def test_relabelling_keeps_its_level_and_sees_a_shift() -> None:
    rng = np.random.default_rng(5)
    same = [relabelled_p(noisy(rng, (30, TOKENS)), noisy(rng, (10, TOKENS)), 99, rng) for _ in range(300)]
    for level in (0.05, 0.2):
        assert np.mean(np.array(same) <= level) <= level + 3.0 * np.sqrt(level * (1.0 - level) / 300)
    forth = np.where(np.arange(TOKENS) % 2, 0.03, -0.03)
    assert relabelled_p(noisy(rng, (30, TOKENS)), noisy(rng, (10, TOKENS)) + forth, 199, rng) == 1.0 / 200.0


def test_the_prompt_is_asked_that_moves_most_for_its_noise() -> None:
    steps = np.full((2, 3, TOKENS), 0.02) * np.array([1.0, 3.0, 3.0])[:, None] * np.where(np.arange(TOKENS) % 2, 1, -1)
    assert most_telling(steps, [known(), known(), known(own=0.2)]).tolist() == [1, 0, 2]


def test_what_is_no_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="variances of tokens are above 0"):
        Whitening(np.zeros(3), 0.0)
    with pytest.raises(ValueError, match="two answers and three tokens at least"):
        Whitening.of(np.zeros((1, 5)))
    with pytest.raises(ValueError, match="means are of one answer at least, not 0"):
        distance(np.zeros((2, TOKENS)), known(), 0)
