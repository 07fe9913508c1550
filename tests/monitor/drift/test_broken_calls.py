"""Counts of broken calls as factors: mean of at most 1 while no more are broken than is lawful, and winnings beyond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.broken_calls import (
    CaseCalls,
    alternatives,
    lawful_of_rounds,
    lawful_share,
    log_factors,
    of_cases,
)
from monitor.drift.evidence import Counts, Inapplicable, StreamKey, Tier

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


@settings(max_examples=40)
@given(lawful=shares, share=st.floats(0.01, 0.99), true=st.floats(0.01, 1.0))
def test_a_case_counts_by_the_share_of_its_calls_that_are_broken(lawful: float, share: float, true: float) -> None:
    """One that is broken in part, with the chance that leaves the mean as it is, wins no more than a whole one."""
    chance = true * lawful / max(share, true * lawful)
    whole, part = log_factors(0.0, 1, lawful), log_factors(share, 1, lawful)
    assert ((1.0 - chance) * np.exp(whole) + chance * np.exp(part) <= 1.0 + 1e-9).all()


def test_a_round_is_evidence_of_its_stream() -> None:
    cases = [CaseCalls("a", 0.0, True), CaseCalls("b", 0.25, False), CaseCalls("c", 1.0, False)]
    found = of_cases(STREAM, 5.0, cases, {"c"}, "1-abc", tokens=900)
    assert found.says == Counts((("b", 0.25), ("c", 1.0)), 3, 0.25, 1, "1-abc")
    assert (found.n, found.tokens, found.reasons) == (3, 900, ("of 3 cases 2 have broken calls",))


def test_a_round_without_calls_says_nothing() -> None:
    assert of_cases(STREAM, 0.0, [], set(), "1-abc").says == Inapplicable("no tool was called")


def test_many_broken_calls_give_no_infinity() -> None:
    assert np.isfinite(np.exp(log_factors(100_000, 100_000, 0.02))).all()


@pytest.mark.parametrize(
    ("bad", "of", "fresh_bad", "fresh"),
    [((("a", 0.5), ("b", 0.5)), 1, 0.0, 0), ((("a", 0.0),), 1, 0.0, 0), ((), 2, 0.5, 0), ((), 2, 0.0, 3)],
)
def test_counts_that_cannot_be_are_refused(
    bad: tuple[tuple[str, float], ...], of: int, fresh_bad: float, fresh: int
) -> None:
    with pytest.raises(ValueError, match="such counts cannot be"):
        Counts(bad, of, fresh_bad, fresh, "1-abc")


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


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(40, 60)), min_size=2, max_size=20))
def test_rounds_allow_at_least_what_all_of_them_together_do(rounds: list[tuple[int, int]]) -> None:
    broken, cases = zip(*rounds, strict=True)
    if sum(broken) < sum(cases):
        assert lawful_of_rounds(broken, cases) >= lawful_share(sum(broken), sum(cases))


def test_rounds_that_differ_by_more_than_chance_allow_a_bad_one() -> None:
    """In every second round a tenth is broken."""
    alike, uneven = [5] * 20, [0, 10] * 10
    assert lawful_of_rounds(alike, [100] * 20) == pytest.approx(lawful_share(100, 2_000))
    assert lawful_of_rounds(uneven, [100] * 20) > 0.12


def test_a_share_that_nobody_would_mind_is_lawful() -> None:
    assert lawful_of_rounds([0, 0], [50_000, 50_000]) == 0.005


def test_where_every_call_is_broken_all_is_lawful() -> None:
    assert lawful_of_rounds([9, 9], [9, 9]) == 1.0
    with pytest.raises(ValueError, match="1 are given"):
        lawful_of_rounds([1], [9])
