"""Evidence from greedy tokens: valid under lawful noise, fast under more, and never decided by one token."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from monitor.drift import near_ties
from monitor.drift.evidence import Combining, Factors, Inapplicable, Null, StreamKey, Tier

STREAM = StreamKey("e1", Tier.GREEDY, "openings-1")


@given(st.floats(0.0, 0.3), st.floats(0.001, near_ties.LAWFUL))
@settings(max_examples=50, deadline=None)
def test_mean_of_each_ratio_is_at_most_one_for_lawful_noise(gap: float, noise: float) -> None:
    """Exactly: a token is turned over with the chance that noise of this size makes up for the gap."""
    chance = norm.sf(gap / noise)
    if gap == 0.0:
        return  # A tie has no runner-up, and a margin of 0 is no mismatch.
    kept, turned = np.exp(near_ties.log_ratios(np.array([0.0, gap]), np.array([gap, gap])))
    assert ((1 - chance) * kept + chance * turned <= 1.0 + 1e-12).all()


def test_kept_near_ties_speak_for_the_null_and_kept_clear_tokens_say_nothing() -> None:
    near, clear = near_ties.log_ratios(np.zeros(2), np.array([0.02, 9.0]))
    assert (near < 0).all()
    assert np.allclose(clear, 0.0)


def test_no_token_counts_more_than_the_cut() -> None:
    assert near_ties.log_ratios(np.array([8.0]), np.array([8.0])).max() == near_ties.MOST


def test_evidence_is_the_mean_of_the_products_so_far() -> None:
    ratios = np.log(np.array([[2.0, 0.5], [3.0, 0.5]]))
    assert near_ties.log_evidence(ratios) == pytest.approx(np.log([1.25, 3.125]))


def test_tokens_until_counts_from_one() -> None:
    evidence = np.array([0.0, 2.0, 1.0, 5.0])
    assert near_ties.tokens_until(evidence, 2.0) == 2
    assert near_ties.tokens_until(evidence, 6.0) is None


def test_a_round_is_one_factor_an_alternative_over_what_can_be_compared() -> None:
    margins, gaps = np.array([[0.0, 0.4], [0.0, np.nan]]), np.array([[0.02, 0.4], [3.0, np.nan]])
    found = near_ties.of_near_ties(STREAM, 60.0, margins, gaps, tokens=500)
    assert isinstance(found.says, Factors)
    assert (found.says.null, found.says.combining) == (Null.REFERENCE, Combining.EACH)
    ratios = near_ties.log_ratios(np.array([0.0, 0.4, 0.0]), np.array([0.02, 0.4, 3.0]))
    assert np.log(found.says.factors) == pytest.approx(ratios.sum(axis=0))
    assert (found.n, found.tokens) == (2, 500)
    assert found.reasons == ("1 of 3 tokens are not the reference's own",)


def test_the_order_of_tokens_within_a_round_is_no_matter() -> None:
    rng = np.random.default_rng(0)
    gaps = rng.exponential(1.0, 40)
    margins = np.where(rng.random(40) < 0.1, gaps, 0.0)
    order = rng.permutation(40)
    one, other = (
        near_ties.of_near_ties(STREAM, 60.0, *sides).says
        for sides in ((margins[None], gaps[None]), (margins[None, order], gaps[None, order]))
    )
    assert isinstance(one, Factors)
    assert isinstance(other, Factors)
    assert one.factors == pytest.approx(other.factors)


def test_answers_of_which_nothing_can_be_compared_are_inapplicable() -> None:
    nothing = np.full((2, 3), np.nan)
    assert isinstance(near_ties.of_near_ties(STREAM, 60.0, nothing, nothing).says, Inapplicable)


@pytest.mark.parametrize("lawful", [0.0, 0.06])
def test_noise_that_no_alternative_exceeds_is_refused(lawful: float) -> None:
    with pytest.raises(ValueError, match=r"below 0\.06 nat"):
        near_ties.log_ratios(np.zeros(1), np.ones(1), lawful)
