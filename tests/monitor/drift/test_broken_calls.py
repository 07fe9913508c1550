"""Counts of broken calls as factors: mean of at most 1 while no more are broken than is lawful, and winnings beyond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.broken_calls import alternatives, lawful_share, log_factors, of_calls
from monitor.drift.evidence import Combining, Factors, Inapplicable, Null, StreamKey, Tier
from monitor.drift.score_stream import StreamRule
from monitor.drift.streams import Epoch, StreamState

STREAM = StreamKey("endpoint", Tier.CAPABILITY, "cases-1")
shares = st.floats(0.002, 0.4)


@settings(max_examples=40)
@given(lawful=shares, true=st.floats(0.01, 1.0), calls=st.integers(1, 40))
def test_the_mean_of_every_factor_is_one_at_most(lawful: float, true: float, calls: int) -> None:
    """Added up over every count there may be."""
    from scipy.stats import binom

    counts = np.arange(calls + 1)
    chances = binom.pmf(counts, calls, true * lawful)
    means = chances @ np.exp(log_factors(counts, calls, lawful))
    assert (means <= 1.0 + 1e-9).all()
    assert binom.pmf(counts, calls, lawful) @ np.exp(log_factors(counts, calls, lawful)) == pytest.approx(1.0)


@settings(max_examples=40)
@given(lawful=shares, broken=st.integers(0, 30), more=st.integers(0, 20))
def test_two_rounds_are_the_product_of_each(lawful: float, broken: int, more: int) -> None:
    both = log_factors(broken + more, 60, lawful)
    assert log_factors(broken, 30, lawful) + log_factors(more, 30, lawful) == pytest.approx(both)


def test_each_broken_call_wins_and_each_whole_one_loses() -> None:
    factors = log_factors(np.arange(11), 10, 0.02)
    assert (np.diff(factors, axis=0) > 0.0).all()
    assert (factors[0] < 0.0).all()
    assert (np.diff(alternatives(0.02)) > 0.0).all()


def test_a_round_is_evidence_of_its_stream() -> None:
    found = of_calls(STREAM, 5.0, 6, 100, 0.02, tokens=900)
    assert isinstance(found.says, Factors)
    assert (found.says.null, found.says.combining) == (Null.LAWFUL_MEAN, Combining.EACH)
    assert found.says.factors == tuple(np.exp(log_factors(6, 100, 0.02)).tolist())
    assert (found.n, found.tokens) == (100, 900)
    assert found.reasons == ("6 of 100 calls are broken, where 2.0% is lawful",)
    state = StreamState(STREAM, StreamRule(1), Epoch(0, 0.0, "stack")).after(found)
    assert state.calibrated
    assert state.value > 1.0


def test_a_round_without_calls_says_nothing() -> None:
    assert of_calls(STREAM, 0.0, 0, 0, 0.02).says == Inapplicable("no tool was called")


def test_many_broken_calls_give_no_infinity() -> None:
    found = of_calls(STREAM, 0.0, 100_000, 100_000, 0.02)
    assert isinstance(found.says, Factors)
    assert np.isfinite(found.says.factors).all()


@pytest.mark.parametrize(("broken", "calls"), [(3, 2), (-1, 2)])
def test_counts_that_cannot_be_are_refused(broken: int, calls: int) -> None:
    with pytest.raises(ValueError, match=f"of {calls} calls {broken} cannot be broken"):
        of_calls(STREAM, 0.0, broken, calls, 0.02)


@pytest.mark.parametrize("lawful", [0.0, 0.9, float("nan")])
def test_a_share_without_room_above_it_is_refused(lawful: float) -> None:
    with pytest.raises(ValueError, match="a lawful share of broken calls is above 0"):
        alternatives(lawful)


def test_a_baseline_allows_what_its_share_may_be_by_chance() -> None:
    """Clopper and Pearson's: at the bound so few are broken by a chance of one in a hundred."""
    from scipy.stats import binom

    bound = lawful_share(28, 1_400)
    assert bound > 28 / 1_400
    assert binom.cdf(28, 1_400, bound) == pytest.approx(0.01)
    assert lawful_share(0, 100) == pytest.approx(1.0 - 0.01 ** (1 / 100))
    with pytest.raises(ValueError, match="5 of 5 are broken"):
        lawful_share(5, 5)
