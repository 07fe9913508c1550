"""What a loop's result says, and the figures over many of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.loops.result import (
    LoopResult,
    MeanOverExercises,
    Stop,
    Tally,
    all_passed,
    mean_over_exercises,
    pass_at_k,
    pass_hat_k,
    tally,
)
from probes.tools.scored import Exclusion

PASSED = LoopResult(
    stop=Stop.ANSWERED,
    goal_state_ok=True,
    answer_ok=True,
    steps=6,
    oracle_steps=4,
    invalid_calls=0,
    errors=0,
    recovered_errors=0,
    defects=(),
)
FAILED = replace(PASSED, answer_ok=False)
EXCLUDED = replace(PASSED, stop=Stop.EXCLUDED, excluded=Exclusion.LENGTH)


def test_a_loop_passes_only_where_everything_is_right() -> None:
    assert PASSED.passed
    assert replace(PASSED, struck=True, obeyed=False).passed
    for fault in (
        {"goal_state_ok": False},
        {"answer_ok": False},
        {"defects": ("TC_ID_DUPLICATE",)},
        {"obeyed": True},
        {"stop": Stop.MAX_STEPS},
        {"stop": Stop.LOOP_STUCK},
        {"stop": Stop.DEFECT},
    ):
        failed = replace(PASSED, **fault)
        assert (failed.passed, failed.excluded, failed.steps_ratio) == (False, None, None)


def test_what_says_nothing_of_quality_is_no_trial() -> None:
    assert (EXCLUDED.passed, EXCLUDED.steps_ratio) == (None, None)
    assert tally([PASSED, EXCLUDED, FAILED, PASSED]) == Tally(2, 3, {Exclusion.LENGTH: 1})


def test_steps_are_measured_by_those_that_were_needed() -> None:
    assert PASSED.steps_ratio == 1.5


@given(st.lists(st.booleans(), max_size=9), st.integers(1, 9))
def test_the_estimates_are_the_shares_of_the_subsets(trials: list[bool], k: int) -> None:
    found = tally(PASSED if passed else FAILED for passed in trials)

    subsets = list(combinations(trials, k))

    if not subsets:
        assert pass_hat_k(found, k) is pass_at_k(found, k) is None
    else:
        assert pass_hat_k(found, k) == pytest.approx(mean(all(subset) for subset in subsets))
        assert pass_at_k(found, k) == pytest.approx(mean(any(subset) for subset in subsets))


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_all_k_is_pass_hat_k_of_all_trials(trials: list[bool]) -> None:
    found = tally(PASSED if passed else FAILED for passed in trials)

    assert all_passed(found) == pass_hat_k(found, len(trials)) == float(all(trials))


def test_without_trials_nothing_is_known() -> None:
    assert all_passed(tally([EXCLUDED])) is None
    assert mean_over_exercises([]) == MeanOverExercises(None, 0, 0)
    with pytest.raises(ValueError, match="at least 1"):
        pass_hat_k(Tally(1, 1), 0)


def test_each_exercise_counts_as_one_and_those_with_too_few_trials_are_told() -> None:
    tallies = [Tally(4, 4), Tally(2, 4), Tally(1, 1)]

    mean_of_two = mean_over_exercises([pass_hat_k(one, 2) for one in tallies])

    assert mean_of_two.value == pytest.approx((1 + 1 / 6) / 2)
    assert (mean_of_two.counted, mean_of_two.excluded) == (2, 1)
