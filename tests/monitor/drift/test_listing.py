from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.listing import Listing, TokenSet, bounds, log_odds, residuals
from monitor.drift.observation import FloatArray

TOKENS = tuple(bytes([97 + place]) for place in range(12))
SENTINELS = [-9_999.0, -np.inf, float(np.finfo(np.float32).min), float(np.finfo(np.float64).min), np.nan, np.inf, 0.5]


def listing(*values: float, tokens: tuple[bytes, ...] = TOKENS) -> Listing:
    return Listing("p", 0.0, tokens[: len(values)], np.array(values))


def top(values: FloatArray, k: int) -> Listing:
    """What an endpoint with these log-probabilities of `TOKENS` lists."""
    order = np.argsort(-values, kind="stable")[:k]
    return Listing("p", 0.0, tuple(TOKENS[place] for place in order), values[order])


@pytest.mark.parametrize("sentinel", SENTINELS)
def test_what_stands_for_no_value_is_dropped(sentinel: float) -> None:
    found = listing(-0.5, sentinel, -2.0).usable
    assert found == (((b"a", -0.5), (b"c", -2.0)), (b"b",))
    assert found.listed == 3


def test_unlikely_values_stop_at_forty_nats_and_rounding_above_zero_is_zero() -> None:
    assert listing(-0.5, -55.0, 1e-6).usable.values == ((b"c", 0.0), (b"a", -0.5), (b"b", -40.0))


def test_of_tokens_with_the_same_bytes_the_first_one_stands() -> None:
    assert listing(-0.5, -3.0, tokens=(b"a", b"a")).usable == (((b"a", -0.5),), ())


def test_a_list_has_a_value_for_each_token() -> None:
    with pytest.raises(ValueError, match="2 tokens"):
        Listing("p", 0.0, (b"a", b"b"), np.array([-0.5]))


def test_a_missing_token_counts_where_its_bound_contradicts_and_by_as_much() -> None:
    found = bounds([listing(-0.5, -1.0, -4.0).usable], [TokenSet((b"a", b"x", b"y"), 3)], 3)
    # x is at most −4: 2 nats below what was expected of it; y may well be what it was.
    assert residuals(found, np.array([-0.4, -2.0, -7.0]))[0] == pytest.approx([-0.1, -2.0, np.nan], nan_ok=True)


@pytest.mark.parametrize("sentinel", SENTINELS)
def test_a_token_listed_without_a_value_is_neither_bounded_nor_missing(sentinel: float) -> None:
    found = bounds([listing(-0.5, sentinel, -9.0).usable], [TokenSet((b"a", b"b", b"c"), 3)], 3)
    assert residuals(found, np.array([-0.5, -0.6, -9.5]))[0] == pytest.approx([0.0, np.nan, 0.5], nan_ok=True)


def test_of_a_shorter_list_as_many_tokens_are_compared_as_it_has() -> None:
    found = bounds([listing(-0.5, -1.0).usable], [TokenSet((b"a", b"b", b"c", b"d"), 4)], 5)
    assert np.isnan(residuals(found, np.full(5, -3.0))[0, 2:]).all()


def test_of_a_longer_list_only_the_largest_count() -> None:
    long, short = listing(-0.5, -1.0, -4.0, -6.0).usable, listing(-0.5, -1.0).usable
    of = [TokenSet((b"a", b"x"), 2)]
    assert np.array_equal(bounds([long], of, 2), bounds([short], of, 2))


vectors = st.lists(st.floats(-20.0, -0.01), min_size=12, max_size=12).map(np.array)


@given(vectors, vectors, st.integers(1, 12), st.integers(1, 12))
def test_no_token_counts_for_more_than_it_moved(now: FloatArray, before: FloatArray, k: int, listed: int) -> None:
    order = np.argsort(-before, kind="stable")
    fixed = TokenSet(tuple(TOKENS[place] for place in order), listed)
    found = bounds([top(now, k).usable], [fixed], 12)
    true, expected = now[order], before[order]
    plain = residuals(found, expected)[0]
    counted = np.isfinite(plain)
    assert (np.abs(plain[counted]) <= np.abs(true - expected)[counted] + 1e-12).all()
    odds = residuals(log_odds(found), expected[1:] - expected[0])[0]
    counted = np.isfinite(odds)
    moved = np.abs((true[1:] - true[0]) - (expected[1:] - expected[0]))
    assert (np.abs(odds[counted]) <= moved[counted] + 1e-12).all()


@given(vectors, st.integers(1, 12))
def test_an_endpoint_that_lists_fewer_has_not_moved(values: FloatArray, k: int) -> None:
    order = np.argsort(-values, kind="stable")
    found = bounds([top(values, k).usable], [TokenSet(tuple(TOKENS[place] for place in order), 12)], 12)
    plain = residuals(found, values[order])
    assert np.isfinite(plain).sum() == k
    assert (plain[np.isfinite(plain)] == 0.0).all()


@given(vectors, vectors, st.floats(-5.0, 0.0), st.integers(2, 12))
def test_log_odds_do_not_see_the_normaliser(now: FloatArray, before: FloatArray, added: float, k: int) -> None:
    fixed = [TokenSet(TOKENS, 12)]
    expected = before[1:] - before[0]
    one, other = (bounds([top(values, k).usable], fixed, 12) for values in (now, now + added))
    assert residuals(log_odds(one), expected) == pytest.approx(residuals(log_odds(other), expected), nan_ok=True)
