"""Greedy answers read by the reference: what counts, what is left out, and divergence that grows with the place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from monitor.drift.evidence import Inapplicable, Null, Scores, StreamKey, Tier
from monitor.drift.greedy_divergence import (
    LONG_FROM,
    NO_TOKEN,
    Context,
    agreed,
    agreed_by_count,
    divergence,
    growth,
    of_greedy,
)
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray

STREAM = StreamKey("e1", Tier.GREEDY, "openings-1")
MARGINS = np.array([[0.0, 0.05, 0.3, 0.0], [0.0, 9.0, np.nan, np.nan]])


def test_scores_are_shares_of_tokens_clearly_below_and_margins_are_clipped() -> None:
    found = divergence(MARGINS)
    assert found is not None
    assert found.scores.tolist() == [0.25, 0.5]
    assert found.mismatches == 0.5
    assert found.margin == pytest.approx((0.05 + 0.3 + 0.5) / 6)
    assert (found.tokens, found.masked) == (6, 0)


@given(arrays(np.float64, (3, 8), elements=st.floats(0.0, 30.0)), st.integers(0, 7))
def test_scores_are_shares_and_grow_with_every_margin(margins: FloatArray, place: int) -> None:
    found = divergence(margins)
    larger = margins.copy()
    larger[:, place] += 1.0
    more = divergence(larger)
    assert found is not None
    assert more is not None
    assert ((found.scores >= 0.0) & (found.scores <= more.scores) & (more.scores <= 1.0)).all()
    assert 0.0 <= found.margin <= more.margin <= 0.5


def test_tokens_count_up_to_the_first_that_is_cut_otherwise() -> None:
    given_ids = np.array([[5, 6, 7, 8], [5, 6, NO_TOKEN, NO_TOKEN], [1, 2, 3, 4]])
    ours = np.array([[5, 9, 7, 8], [5, 6, NO_TOKEN, NO_TOKEN], [9, 2, 3, 4]])
    assert agreed(given_ids, ours).sum(axis=1).tolist() == [1, 2, 0]
    with pytest.raises(ValueError, match="one shape"):
        agreed(given_ids, ours[:, :2])


@given(arrays(np.int64, (2, 6), elements=st.integers(0, 3)), arrays(np.int64, (2, 6), elements=st.integers(0, 3)))
def test_nothing_counts_after_a_token_that_does_not(given_ids: IntArray, ours: IntArray) -> None:
    mask = agreed(given_ids, ours)
    assert (mask[:, 1:] <= mask[:, :-1]).all()
    assert (given_ids[mask] == ours[mask]).all()
    assert np.array_equal(mask, agreed(ours, given_ids))


def test_without_tokens_an_answer_of_another_count_counts_nothing() -> None:
    ours = np.array([[5, 6, 7], [5, 6, NO_TOKEN], [5, 6, 7]])
    assert agreed_by_count(ours, np.array([3, 3, 5])).sum(axis=1).tolist() == [3, 2, 0]


def test_a_mask_leaves_out_what_would_look_like_divergence() -> None:
    mask = np.array([[True, True, False, False], [True, False, False, False]])
    found = divergence(MARGINS, mask)
    assert found is not None
    assert found.scores.tolist() == [0.0, 0.0]
    assert (found.tokens, found.masked) == (3, 3)
    assert "3 left out" in str(found)


def test_answers_of_which_nothing_is_left_have_no_score() -> None:
    found = divergence(MARGINS, np.array([[True] * 4, [False] * 4]))
    assert found is not None
    assert found.scores.tolist() == [0.25]
    assert divergence(MARGINS, np.zeros((2, 4), dtype=np.bool_)) is None


def test_a_token_above_the_most_likely_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"-0\.2 nat"):
        divergence(np.array([[0.0, -0.2]]))


def test_short_and_long_contexts_are_streams_of_their_own() -> None:
    found = of_greedy(STREAM, 60.0, MARGINS, np.array([40, LONG_FROM]))
    short, long = found[Context.SHORT], found[Context.LONG]
    assert short.stream == replace_set("openings-1/short")
    assert long.stream == replace_set("openings-1/long")
    assert (short.says, long.says) == (Scores((0.25,)), Scores((0.5,)))
    assert (short.n, short.tokens, long.tokens) == (1, 44, LONG_FROM + 2)
    assert "25.00%" not in short.reasons[0]
    assert short.reasons[0].startswith("50.00% of 4 tokens are not the reference's own")
    assert isinstance(short.says, Scores)
    assert short.says.null is Null.LAWFUL_MEAN
    assert list(of_greedy(STREAM, 60.0, MARGINS, np.array([40, 50]))) == [Context.SHORT]


def test_what_cannot_be_compared_is_inapplicable_where_it_was_asked() -> None:
    mask = np.array([[True] * 4, [False] * 4])
    found = of_greedy(STREAM, 60.0, MARGINS, np.array([40, LONG_FROM]), mask)
    assert isinstance(found[Context.SHORT].says, Scores)
    assert isinstance(found[Context.LONG].says, Inapplicable)


def replace_set(name: str) -> StreamKey:
    return STREAM._replace(probe_set=name)


def noisy(places: IntArray, *, weights: float = 0.0, a_token: float = 0.0, seed: int = 0) -> FloatArray:
    """Margins where the reference's two likeliest tokens are turned over by an error: one that weights make everywhere,
    and one that each cached token adds to (variance), nat."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(2.0, places.shape)
    error = rng.normal(0.0, 1.0, places.shape) * np.sqrt(weights**2 + a_token**2 * places)
    return np.where(error > gaps, gaps, 0.0)


EDGES = np.array([1_000, 3_000, 6_000])


def context_places(seed: int) -> IntArray:
    starts = np.random.default_rng(seed).integers(0, 9_000, (60, 1))
    return np.asarray(starts + np.arange(100))


def test_an_error_that_the_cache_adds_up_grows_with_the_place() -> None:
    places = context_places(0)
    found = growth(noisy(places, a_token=0.01), places, EDGES)
    assert found is not None
    assert found.p < 1e-4
    assert found.shares[-1] > 2 * found.shares[0]
    lengths = np.array([200] * 10 + [9_000] * 10)
    margins = noisy(lengths[:, None] + np.arange(200), a_token=0.01)
    evidence = of_greedy(STREAM, 60.0, margins, lengths)
    short, long = (evidence[context].says for context in (Context.SHORT, Context.LONG))
    assert isinstance(short, Scores)
    assert isinstance(long, Scores)
    assert long.mean > 2 * short.mean


def test_an_error_of_weights_is_the_same_everywhere() -> None:
    p = []
    for seed in range(200):
        places = context_places(seed)
        found = growth(noisy(places, weights=0.5, seed=seed), places, EDGES)
        assert found is not None
        p.append(found.p)
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_growth_needs_two_parts_and_tokens_that_differ() -> None:
    places = np.arange(8).reshape(2, 4)
    assert growth(np.zeros((2, 4)), places, EDGES) is None
    assert growth(np.where(places % 2, 0.4, 0.0), places, EDGES) is None
    assert growth(np.full((2, 4), np.nan), places, np.array([4])) is None
    found = growth(np.where(places > 3, 0.4, 0.0), places, np.array([4]))
    assert found is not None
    assert found.shares.tolist() == [0.0, 1.0]
    assert found.p == pytest.approx(0.0023, abs=1e-4)


def test_growth_falls_where_divergence_does() -> None:
    places = context_places(1)
    margins = noisy(places, a_token=0.01)
    found, turned = growth(margins, places, EDGES), growth(margins, places.max() - places, places.max() - EDGES[::-1])
    assert found is not None
    assert turned is not None
    assert turned.p == pytest.approx(1.0 - found.p, abs=1e-3)
