"""Seeded sampling: reproducible, unbiased, and exact in its filters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from reference_engine.sample import gumbel_noise, nucleus, sample

LOGITS = np.array([0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 1.5, 0.2])
LOGPROBS = LOGITS - math.log(np.exp(LOGITS).sum())
DRAWS = 4_000


def draws(seed: int = 11, temperature: float = 1.0, top_p: float = 1.0) -> np.ndarray:
    return np.array(
        [sample(LOGPROBS, temperature=temperature, top_p=top_p, seed=seed, position=at) for at in range(DRAWS)]
    )


def chi_square_p(tokens: np.ndarray, probabilities: np.ndarray) -> float:
    possible = probabilities > 0
    counts = np.bincount(tokens, minlength=len(probabilities))
    assert counts[~possible].sum() == 0
    if possible.sum() == 1:
        return 1.0
    return float(stats.chisquare(counts[possible], probabilities[possible] * len(tokens)).pvalue)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_tokens_are_drawn_with_the_tempered_probabilities(temperature: float) -> None:
    expected = np.exp(LOGPROBS / temperature)

    assert chi_square_p(draws(temperature=temperature), expected / expected.sum()) > 1e-4


@pytest.mark.parametrize("top_p", [0.3, 0.8, 0.95])
def test_top_p_draws_from_the_fewest_likely_tokens_that_reach_it(top_p: float) -> None:
    order = np.argsort(-LOGPROBS)
    mass = np.cumsum(np.exp(LOGPROBS[order]))
    kept = order[: int(np.argmax(mass >= top_p)) + 1]
    expected = np.zeros(len(LOGPROBS))
    expected[kept] = np.exp(LOGPROBS[kept])

    assert chi_square_p(draws(top_p=top_p), expected / expected.sum()) > 1e-4


def test_top_p_counts_after_temperature() -> None:
    hot = np.exp(LOGPROBS / 2) / np.exp(LOGPROBS / 2).sum()
    expected = np.where(hot >= np.sort(hot)[-4], hot, 0)
    assert np.sort(hot)[-3:].sum() < 0.7 < np.sort(hot)[-4:].sum()

    assert chi_square_p(draws(temperature=2.0, top_p=0.7), expected / expected.sum()) > 1e-4


def test_the_same_seed_draws_the_same_tokens_and_another_seed_others() -> None:
    first = draws(seed=3)

    assert np.array_equal(first, draws(seed=3))
    assert abs((first == draws(seed=4)).mean() - (np.exp(LOGPROBS) ** 2).sum()) < 0.03


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63, 2**64 + 5])
def test_noise_is_standard_gumbel_over_tokens_and_over_positions(seed: int) -> None:
    over_tokens = gumbel_noise(seed, 0, np.arange(50_000))
    over_positions = np.array([gumbel_noise(seed, at, np.array([7]))[0] for at in range(2_000)])

    assert stats.kstest(over_tokens, stats.gumbel_r.cdf).pvalue > 1e-4
    assert stats.kstest(over_positions, stats.gumbel_r.cdf).pvalue > 1e-4
    assert abs(np.corrcoef(over_tokens, gumbel_noise(seed, 1, np.arange(50_000)))[0, 1]) < 0.02


def test_noise_belongs_to_the_token_id_not_to_its_place() -> None:
    ids = np.array([900, 3, 41])

    assert np.array_equal(gumbel_noise(5, 9, ids), gumbel_noise(5, 9, np.arange(1000))[ids])


def test_greedy_takes_the_lowest_id_among_the_most_likely() -> None:
    assert sample(np.array([-2.0, -1.0, -1.0]), temperature=0.0, top_p=0.1, seed=1, position=0) == 1


def test_a_temperature_near_zero_is_greedy() -> None:
    assert all(sample(LOGPROBS, temperature=1e-300, top_p=1.0, seed=1, position=at) == 3 for at in range(50))


@given(
    arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(-30, 0)),
    st.floats(0.01, 1.0, exclude_max=True),
)
def test_the_nucleus_is_minimal_and_reaches_top_p(values: np.ndarray, top_p: float) -> None:
    scaled = values - values.max()
    kept = nucleus(scaled, top_p)
    probabilities = np.exp(scaled) / np.exp(scaled).sum()

    assert probabilities[kept].sum() >= top_p - 1e-12
    assert probabilities[kept].sum() - probabilities[kept].min() < top_p + 1e-12
    assert probabilities[kept].min() >= np.delete(probabilities, kept).max(initial=0.0)
