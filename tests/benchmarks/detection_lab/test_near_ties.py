"""Evidence from greedy tokens: valid under lawful noise, fast under more, and never decided by one token."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from benchmarks.detection_lab import near_ties


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
