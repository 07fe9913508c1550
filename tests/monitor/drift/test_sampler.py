"""The sampler's test: of mean 1 exactly, by going through all that may come; and fast for what it is there to see."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.draws import Cells
from monitor.drift.evidence import Combining, Factors, Inapplicable, Null, StreamKey, Tier
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray
from monitor.drift.sampler import ALTERNATIVES, factors_of, fired, log_ratios, of_sampler
from tests.monitor.drift.listed_draws import LISTINGS, Listing, chances, drawn, falling, listed, tempered

K = 5
STREAM = StreamKey("e1", Tier.SAMPLING, "draws-1")
WIDE = falling(2.8)


def ratios(p: FloatArray, tokens: IntArray, **options: object) -> FloatArray:
    return np.exp(log_ratios(Cells.of(listed(p, tokens, K, **options))))  # type: ignore[arg-type]


@pytest.mark.parametrize("listing", LISTINGS)
@given(chances(), st.frozensets(st.integers(0, 6)))
@settings(max_examples=60, deadline=None)
def test_every_ratio_has_mean_one_whatever_is_listed(listing: Listing, p: FloatArray, seen: frozenset[int]) -> None:
    every = np.arange(len(p))
    assert p @ ratios(p, every, listing=listing, seen=seen) == pytest.approx(np.ones(len(ALTERNATIVES)))


@given(chances(), chances(), chances())
@settings(max_examples=10, deadline=None)
def test_the_average_of_products_over_draws_has_mean_one(one: FloatArray, two: FloatArray, three: FloatArray) -> None:
    """Of three draws from three distributions, all 343 outcomes."""
    of_one, of_two, of_three = (ratios(p, np.arange(len(p))) for p in (one, two, three))
    mean = 0.0
    for a, b, c in product(range(7), repeat=3):
        mean += float(one[a] * two[b] * three[c] * (of_one[a] * of_two[b] * of_three[c]).mean())
    assert mean == pytest.approx(1.0)


@given(chances(), st.integers(1, 4), st.lists(st.floats(-1.0, 1.0), min_size=7, max_size=7))
@settings(max_examples=60, deadline=None)
def test_errors_within_the_bound_leave_the_mean_at_one_or_below(p: FloatArray, decimals: int, by: list[float]) -> None:
    """Rounded to so many decimals, or moved by as much in any direction."""
    every, bound = np.arange(len(p)), 0.5 * 10.0**-decimals
    assert (p @ ratios(p, every, decimals=decimals, rounding=bound) <= 1.0 + 1e-9).all()
    true = p * np.exp(bound * np.array(by))
    true /= true.sum()
    reported = np.log(p)
    moved = float(np.abs(reported - np.log(true)).max())
    assert (true @ ratios(p, every, rounding=moved) <= 1.0 + 1e-9).all()


def test_errors_without_a_bound_do_not() -> None:
    p = np.array([0.314, 0.244, 0.176, 0.114, 0.08, 0.05, 0.022])
    every = np.arange(len(p))
    assert (p @ ratios(p, every, decimals=1)).max() > 1.003
    assert (p @ ratios(p, every, decimals=1, rounding=0.05)).max() <= 1.0


@given(chances(), st.frozensets(st.integers(0, 6)))
@settings(max_examples=40, deadline=None)
def test_every_alternative_is_a_distribution_with_room_for_every_token(p: FloatArray, seen: frozenset[int]) -> None:
    cells = Cells.of(listed(p, np.arange(len(p)), K, seen=seen))
    for each in ALTERNATIVES:
        q = each.of(cells)
        assert q.sum(axis=1) == pytest.approx(np.ones(len(p)))
        assert (q[cells.p > 0.0] > 0.0).all()


def test_a_nucleus_takes_of_the_rest_what_is_missing() -> None:
    p = np.array([0.5, 0.2, 0.1, 0.08, 0.07, 0.05])
    cells = Cells.of(listed(p, np.arange(6), 5))
    nucleus = {each.name: each.of(cells)[0] for each in ALTERNATIVES}["top_p 0.9"]
    # 0.8 are listed, 0.1 of 0.2 is missing.
    assert nucleus == pytest.approx(0.9 * np.array([0.5, 0.2, 0.1, 0.1]) / 0.9 + 0.1 * np.array([0.5, 0.2, 0.1, 0.2]))


def cut_at(p: FloatArray, count: int) -> FloatArray:
    kept = np.where(np.arange(len(p)) < count, p, 0.0)
    return np.asarray(kept / kept.sum())


def likeliest(tokens: IntArray, **options: object) -> tuple[str, float]:
    """The name of the likeliest alternative, and the average product."""
    draws = listed(WIDE, tokens, 20, decimals=4, rounding=1e-4, **options)  # type: ignore[arg-type]
    factors = factors_of(log_ratios(Cells.of(draws)))
    return ALTERNATIVES[int(np.argmax(factors))].name, sum(factors) / len(factors)


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        (tempered(WIDE, 0.7), {"temperature 0.7"}),
        (tempered(WIDE, 0.85), {"temperature 0.85"}),
        (tempered(WIDE, 1.15), {"temperature 1.15"}),
        (cut_at(WIDE, int(np.argmax(np.cumsum(WIDE) >= 0.9)) + 1), {"top_p 0.9"}),
        (cut_at(WIDE, 30), {"a short list: top_k or min_p", "top_p 0.95", "top_p 0.9"}),
    ],
)
def test_a_changed_sampler_is_seen_and_named(changed: FloatArray, names: set[str]) -> None:
    name, evidence = likeliest(drawn(changed, 1_500, seed=1))
    assert name in names
    assert evidence >= 1_000.0


def test_a_penalty_is_seen_where_the_prompt_holds_what_is_likely() -> None:
    seen = frozenset({0, 2, 5})
    weights = WIDE * np.exp(-0.7 * np.isin(np.arange(len(WIDE)), list(seen)))
    tokens = drawn(weights / weights.sum(), 400, seed=2)
    assert likeliest(tokens, seen=seen)[0] == "a penalty on what the prompt holds"
    assert likeliest(tokens, seen=seen)[1] >= 1_000.0


def test_false_alarms_are_as_rare_as_is_said() -> None:
    """Looked at after each of 200 draws, at α = 5 %."""
    alarms = []
    for seed in range(300):
        draws = listed(WIDE, drawn(WIDE, 200, seed=seed), 20, decimals=4, rounding=1e-4)
        paths = np.exp(np.cumsum(log_ratios(Cells.of(draws)), axis=0)).mean(axis=1)
        alarms.append(paths.max() >= 20.0)
    assert np.mean(alarms) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)


def test_a_round_is_evidence_that_is_kept_apart_by_alternative() -> None:
    draws = listed(WIDE, drawn(tempered(WIDE, 0.7), 100, seed=3), 20)
    found = of_sampler(STREAM, 60.0, draws, tokens=900)
    assert (found.stream, found.at, found.n, found.tokens) == (STREAM, 60.0, 100, 900)
    assert isinstance(found.says, Factors)
    assert (found.says.null, found.says.combining) == (Null.STATED, Combining.EACH)
    assert found.says.factors == factors_of(log_ratios(Cells.of(draws)))
    assert found.reasons == ("likeliest of the alternatives: temperature 0.7",)


def test_draws_without_their_log_probabilities_are_inapplicable() -> None:
    draws = listed(WIDE, drawn(WIDE, 5, seed=4), 20)
    found = of_sampler(STREAM, 60.0, replace(draws, logprobs=np.full(draws.logprobs.shape, np.nan)))
    assert found.says == Inapplicable("5 of 5 draws list fewer than 20 log-probabilities")


def test_defaults_that_are_applied_to_every_request_are_a_property_found_at_enrolment() -> None:
    assert fired(listed(WIDE, drawn(WIDE, 600, seed=5), 20)) is None
    found = fired(listed(WIDE, drawn(tempered(WIDE, 0.7), 600, seed=5), 20))
    assert found is not None
    assert found.alternative == "temperature 0.7"
    assert found.evidence >= 1_000.0
    assert fired(listed(WIDE, drawn(WIDE, 0, seed=5), 20)) is None
