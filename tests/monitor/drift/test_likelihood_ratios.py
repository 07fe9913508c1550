"""Factors have a mean of at most 1 while nothing changes, by every alternative, and win where something did."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.likelihood_ratios import LISTED, Counted, Ratios, Sampler, fewest_events, open_question

shares = st.floats(0.002, 0.4)


@settings(max_examples=40)
@given(lawful=shares, true=st.floats(0.0, 1.0))
def test_a_counts_factors_have_a_mean_of_one_at_the_lawful_share_and_less_below(lawful: float, true: float) -> None:
    q = Counted(lawful, 0.5).alternatives
    share = true * lawful
    mean = share * q / lawful + (1.0 - share) * (1.0 - q) / (1.0 - lawful)
    assert (mean <= 1.0 + 1e-9).all()
    assert (q > lawful).all()
    at_lawful = q + (1.0 - q)
    assert at_lawful == pytest.approx(np.ones(q.size))


@pytest.mark.parametrize("ratios", [Counted(0.02, 0.05), Sampler(0.9)])
def test_drawn_factors_have_a_mean_of_one_while_nothing_changes(ratios: Ratios) -> None:
    factors = ratios.factors(np.random.default_rng(0), 60_000, 1, 5, changed=False)
    mean, error = factors.mean(axis=(0, 1)), factors.std(axis=(0, 1)) / np.sqrt(60_000)
    assert (np.abs(mean - 1.0) <= 4.0 * error).all()


@pytest.mark.parametrize("ratios", [Counted(0.02, 0.9), Sampler(0.2)])
def test_a_gross_change_of_many_answers_gives_large_factors_and_no_others(ratios: Ratios) -> None:
    with np.errstate(over="raise"):
        factors = ratios.factors(np.random.default_rng(0), 20, 2, 100_000, changed=True)
    assert np.isfinite(factors).all()
    assert (factors.max(axis=2) > 1e12).all()


@settings(max_examples=30)
@given(temperature=st.floats(0.3, 1.8))
def test_a_samplers_alternatives_are_distributions(temperature: float) -> None:
    alternatives = Sampler(temperature).alternatives
    assert alternatives.shape[1] == LISTED + 1
    assert alternatives.sum(axis=1) == pytest.approx(np.ones(len(alternatives)))
    assert (alternatives > 0.0).all()


def test_divergences_are_those_of_their_formula() -> None:
    """Schema validity from 98 % to 95 %: 829 calls to 13.5 nats (DETECTION.md §3, G8)."""
    assert 13.5 / Counted(0.02, 0.05).nats == pytest.approx(829, abs=1)
    assert 13.5 / Counted(0.02, 0.10).nats == pytest.approx(160, abs=1)
    assert Counted(0.05, 0.02).nats == 0.0
    assert Sampler(1.0).nats == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("temperature", "draws"), [(0.9, 882), (0.7, 141)])
def test_a_temperature_needs_fewer_draws_than_the_designs_mixture_of_bets_but_not_by_far(
    temperature: float, draws: int
) -> None:
    """Of another distribution with the same entropy."""
    assert draws / 3.0 <= 13.5 / Sampler(temperature).nats <= draws


def test_fewer_events_are_needed_of_a_larger_change_and_at_a_larger_alpha() -> None:
    small, large = Counted(0.02, 0.05), Counted(0.02, 0.2)
    assert fewest_events(large, 0.001, 720) < fewest_events(small, 0.001, 720)
    assert fewest_events(small, 0.01, 720) < fewest_events(small, 0.001, 720)
    assert fewest_events(Counted(0.02, 0.02), 0.001, 720) == np.inf


def test_an_open_question_has_the_entropy_asked_for() -> None:
    for entropy in (2.0, 2.8, 4.0):
        chances = open_question(entropy)
        assert chances.sum() == pytest.approx(1.0)
        assert -(chances * np.log(chances)).sum() == pytest.approx(entropy)


@pytest.mark.parametrize("wrong", [(0.0, 0.5, 1), (0.1, 1.5, 1), (0.1, 0.5, 0)])
def test_what_is_no_share_is_refused(wrong: tuple[float, float, int]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Counted(*wrong)
    with pytest.raises(ValueError, match="above 0"):
        Sampler(0.0)
