"""What a loop's result says, and the figures over many of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.loops.result import LoopResult, Stop, Tally, pass_hat_k, tally
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
def test_pass_hat_k_is_the_share_of_the_subsets_that_passed(trials: list[bool], k: int) -> None:
    found = tally(PASSED if passed else FAILED for passed in trials)

    subsets = list(combinations(trials, k))

    assert pass_hat_k(found, k) == (pytest.approx(mean(all(subset) for subset in subsets)) if subsets else None)
