"""Copies among draws: of mean 1 exactly while there are none, and told from answers that are alike by themselves."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from monitor.drift.collisions import expected_share, log_ratios, of_collisions
from monitor.drift.draws import Cells, Draws
from monitor.drift.evidence import Combining, Factors, Inapplicable, Null, StreamKey, Tier
from monitor.drift.observation import FloatArray
from tests.monitor.drift.listed_draws import chances, drawn, falling, listed

STREAM = StreamKey("e1", Tier.SAMPLING, "copies-1")
WIDE = falling(2.8)


def value(draws: Draws) -> float:
    says = of_collisions(STREAM, 60.0, draws).says
    assert isinstance(says, Factors)
    assert (says.null, says.combining) == (Null.STATED, Combining.EACH)
    return sum(says.factors) / len(says.factors)


@given(chances(tokens=4))
@settings(max_examples=25, deadline=None)
def test_products_over_draws_have_mean_one(p: FloatArray) -> None:
    """All 256 outcomes of four draws."""
    means = 0.0
    for tokens in product(range(4), repeat=4):
        ids = np.array(tokens)
        means += np.prod(p[ids]) * np.exp(log_ratios(ids, p[ids]).sum(axis=0))
    assert means == pytest.approx(np.ones(6))


@given(chances())
@settings(max_examples=25, deadline=None)
def test_a_bound_in_place_of_the_chance_only_takes_away(p: FloatArray) -> None:
    ids = np.array([0, 3, 0, 0, 5, 3])
    assert (log_ratios(ids, np.minimum(1.0, 1.3 * p[ids])) <= log_ratios(ids, p[ids]) + 1e-12).all()


@given(chances())
@settings(max_examples=40, deadline=None)
def test_pairs_are_alike_no_more_often_than_is_said(p: FloatArray) -> None:
    (share,) = expected_share(Cells.of(listed(p, np.array([0]), 5)))
    assert (p**2).sum() <= share + 1e-12
    assert share <= 1.0


def test_one_answer_to_all_is_seen_where_answers_should_differ() -> None:
    token = int(np.flatnonzero(WIDE < 0.06)[0])
    found = of_collisions(STREAM, 60.0, listed(WIDE, np.full(25, token), 20), tokens=300)
    assert (found.n, found.tokens) == (25, 300)
    assert "300 of 300 pairs of draws are alike, where " in found.reasons[0]
    assert value(listed(WIDE, np.full(25, token), 20)) >= 1_000.0
    # Also a token of the rest, of which only a bound is known.
    assert value(listed(WIDE, np.full(25, 900), 20)) >= 1_000.0


def test_one_answer_to_all_is_nothing_where_it_is_nearly_sure() -> None:
    sure = np.array([0.97, 0.01, 0.008, 0.006, 0.004, 0.002])
    found = of_collisions(STREAM, 60.0, listed(sure, np.zeros(25, dtype=np.int64), 5))
    assert isinstance(found.says, Inapplicable)
    assert "94% of pairs" in found.says.reason


def test_low_entropy_is_no_copy() -> None:
    """The same share of equal pairs, from two distributions."""
    narrow = np.array([0.7, 0.12, 0.08, 0.05, 0.03, 0.02])
    tokens = np.array([0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0])
    assert value(listed(narrow, tokens, 5)) < 3.0
    assert value(listed(WIDE, tokens + 1, 20)) >= 1_000.0


def test_clones_in_pairs_are_seen_over_a_few_prompts() -> None:
    """Two answers to each request, of one seed: prompts of 24 draws, 12 of them anew."""
    anew = drawn(WIDE, 48, seed=1)
    draws = listed(WIDE, np.repeat(anew, 2), 20)
    assert value(replace(draws, prompts=np.repeat(np.arange(4), 24))) >= 1_000.0


def test_equal_answers_to_other_prompts_are_no_copies() -> None:
    draws = listed(WIDE, np.full(25, 3), 20)
    assert value(draws) >= 1_000.0
    found = of_collisions(STREAM, 60.0, replace(draws, prompts=np.arange(25)))
    assert found.says == Inapplicable("no prompt was asked twice")


def test_false_alarms_are_as_rare_as_is_said() -> None:
    alarms = [value(listed(WIDE, drawn(WIDE, 25, seed=seed), 20, rounding=1e-4)) >= 20.0 for seed in range(300)]
    assert np.mean(alarms) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)


def test_what_cannot_be_read_is_inapplicable_and_impossible_chances_are_refused() -> None:
    assert of_collisions(STREAM, 60.0, listed(WIDE, np.array([], dtype=np.int64), 20)).says == Inapplicable("no draws")
    with pytest.raises(ValueError, match=r"\(0, 1\]"):
        log_ratios(np.array([1, 2]), np.array([0.5, 0.0]))
