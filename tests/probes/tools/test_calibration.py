"""Ambiguous prompts: kept where a reference is in doubt and agrees with itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, fisher_exact, hypergeom

from probes.tools.calibration import (
    ALPHA,
    FEWEST,
    FIRST_PART,
    HIGH,
    LOOK,
    LOW,
    REPEATS,
    Count,
    Dropped,
    calibrate,
    chance_of_doubt,
    disagreement,
    enough,
    given_up,
    screened,
)
from probes.tools.case import Category
from probes.tools.families import suite
from tests.probes.tools.families.drawn import SEED, pool

CASES = [one.case for one in pool()]
counts = st.integers(0, 20).flatmap(lambda answers: st.builds(Count, st.integers(0, answers), st.just(answers)))


def why(first: Count, second: Count) -> Dropped | None:
    (case, *_) = CASES
    return calibrate([case], {case.key: first}, {case.key: second}).dropped.get(case.key)


@settings(max_examples=50)
@given(counts, counts)
def test_two_runs_are_compared_by_fishers_exact_test(one: Count, two: Count) -> None:
    table = [[one.calls, one.answers - one.calls], [two.calls, two.answers - two.calls]]

    assert float(disagreement(one, two)) == pytest.approx(float(fisher_exact(table)[1]), abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (Count(8, 16), Count(8, 16), None),
        (Count(3, 16), Count(6, 16), None),
        (Count(2, 16), Count(8, 16), Dropped.SELDOM),
        (Count(14, 16), Count(8, 16), Dropped.ALWAYS),
        (Count(3, 16), Count(0, 16), Dropped.SELDOM),
        (Count(13, 16), Count(16, 16), Dropped.ALWAYS),
        (Count(3, 16), Count(13, 16), Dropped.UNSTABLE),
        (Count(6, 11), Count(8, 16), Dropped.FEW_ANSWERS),
        (Count(8, 16), Count(6, 11), Dropped.FEW_ANSWERS),
        (Count(8, 16), Count(0, 0), Dropped.FEW_ANSWERS),
        (Count(0, 0), Count(0, 0), Dropped.FEW_ANSWERS),
    ],
)
def test_a_candidate_is_kept_where_the_reference_is_in_doubt(
    first: Count, second: Count, reason: Dropped | None
) -> None:
    assert why(first, second) is reason


def test_bounds_themselves_are_out() -> None:
    assert why(Count(3, 20), Count(3, 20)) is Dropped.SELDOM
    assert why(Count(17, 20), Count(17, 20)) is Dropped.ALWAYS


def test_what_is_kept_carries_both_runs() -> None:
    case = CASES[0]
    made = calibrate([case], {case.key: Count(7, 16)}, {case.key: Count(9, 15)})

    assert made.kept == {case.key: Count(16, 31)}


def test_every_candidate_is_kept_or_dropped_and_what_is_kept_was_screened() -> None:
    rng = np.random.default_rng(7)
    chances = rng.beta(0.4, 0.4, len(CASES))
    first, second = (
        {case.key: Count(int(rng.binomial(16, p)), 16) for case, p in zip(CASES, chances, strict=True)}
        for _ in range(2)
    )
    made = calibrate(CASES, first, second)

    assert made.kept.keys() | made.dropped.keys() == {case.key for case in CASES}
    assert not made.kept.keys() & made.dropped.keys()
    assert made.kept.keys() <= set(screened(first))
    asked = {key: second[key] for key in screened(first)}
    assert calibrate(CASES, first, asked).kept == made.kept


def test_a_stable_prompt_is_seldom_called_unstable() -> None:
    """At any chance of calling, two runs of sixteen contradict each other in at most ALPHA of the cases."""
    for p in (0.2, 0.35, 0.5, 0.8):
        chance = binom.pmf(range(REPEATS + 1), REPEATS, p)
        wrong = sum(
            chance[one] * chance[two]
            for one, two in product(range(REPEATS + 1), repeat=2)
            if disagreement(Count(one, REPEATS), Count(two, REPEATS)) < ALPHA
        )
        assert wrong <= float(ALPHA)


def test_a_prompt_is_given_up_after_eight_answers_alike() -> None:
    assert [calls for calls in range(9) if given_up(Count(calls, 8), 8)] == [0, 8]
    assert not given_up(Count(0, 0), REPEATS)
    assert given_up(Count(2, 3), 8)
    assert (why(Count(0, 8), Count(0, 0)), why(Count(8, 8), Count(0, 0))) == (Dropped.SELDOM, Dropped.ALWAYS)


@settings(max_examples=50)
@given(counts)
def test_the_chance_of_doubt_is_the_beta_distributions(count: Count) -> None:
    after = beta(count.calls + 1, count.answers - count.calls + 1)

    assert float(chance_of_doubt(count)) == pytest.approx(after.cdf(float(HIGH)) - after.cdf(float(LOW)), abs=1e-9)


@settings(max_examples=50)
@given(counts)
def test_giving_up_drops_no_prompt_that_all_answers_would_keep(count: Count) -> None:
    """Once all sixteen are there, the share alone decides."""
    share = Fraction(count.calls, count.answers) if count.answers else Fraction(1, 2)
    if count.answers >= REPEATS and LOW < share < HIGH:
        assert not given_up(count, 0)


@settings(max_examples=50)
@given(st.integers(0, 1000).map(lambda thousandths: thousandths / 1000))
def test_giving_up_early_decides_otherwise_on_few_prompts(p: float) -> None:
    first, rest = binom.pmf(range(LOOK + 1), LOOK, p), binom.pmf(range(LOOK + 1), LOOK, p)
    wrong = sum(
        first[one] * rest[two]
        for one, two in product(range(LOOK + 1), repeat=2)
        if given_up(Count(one, LOOK), LOOK) and LOW < Fraction(one + two, REPEATS) < HIGH
    )

    assert wrong <= 0.035


def test_where_enough_can_be_kept_the_first_part_shows_one() -> None:
    assert hypergeom(suite.CANDIDATES, FEWEST, FIRST_PART).pmf(0) < 1 / 180


def test_a_candidate_that_was_not_asked_is_said_to_be_that() -> None:
    assert set(calibrate(CASES[:3], {CASES[0].key: Count(0, 8)}, {}).dropped.values()) == {
        Dropped.SELDOM,
        Dropped.UNASKED,
    }


def test_it_is_of_use_with_as_many_as_there_are_anchors() -> None:
    assert (enough(FEWEST - 1), enough(FEWEST)) == (False, True)
    anchors = [one for one in suite.instances(SEED, 1, pool=pool()) if one.case.category is Category.T3]
    assert sum(one.case.anchor for one in anchors) == FEWEST


def test_a_p_value_is_a_share() -> None:
    assert disagreement(Count(0, 0), Count(0, 0)) == 1
    assert disagreement(Count(0, 16), Count(16, 16)) == Fraction(2, 601080390)
