from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.loop_assess import LoopSide
from monitor.drift.loop_metrics import loop_metrics
from probes.loops.loop import Arm
from probes.loops.result import Stop
from probes.tools.scored import Exclusion
from tests.monitor.drift.graded_loops import FAILED, PASSED, loop, side
from tests.monitor.drift.scored_answers import scored

LOOPS = st.lists(
    st.builds(
        loop,
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 3),
        arm=st.sampled_from(Arm),
        result=st.sampled_from([PASSED, FAILED, replace(PASSED, stop=Stop.EXCLUDED, excluded=Exclusion.LENGTH)]),
    ),
    max_size=20,
)


@settings(max_examples=50)
@given(loops=LOOPS)
def test_every_loop_is_counted_or_left_out_and_of_nothing_there_is_no_rate(loops: list[object]) -> None:
    found = loop_metrics(LoopSide((), loops))  # type: ignore[arg-type]

    whole = found["loop_pass"]
    assert whole.denominator + sum(whole.excluded.values()) == len(loops)
    arms = [found[f"loop_pass.{arm.value}"] for arm in Arm]
    assert (sum(one.numerator for one in arms), sum(one.denominator for one in arms)) == (
        whole.numerator,
        whole.denominator,
    )
    for rate in found.values():
        assert (rate.value is None) is (rate.denominator == 0)
        assert rate.low is None or rate.high is None or 0.0 <= rate.low <= rate.high <= 1.0


def test_in_pass_hat_k_every_exercise_counts_alike_and_those_with_too_few_loops_are_told() -> None:
    loops = [
        *(loop("a", rep) for rep in range(4)),
        *(loop("b", rep, result=PASSED if rep < 2 else FAILED) for rep in range(4)),
        loop("c"),
    ]

    found = loop_metrics(LoopSide((), loops))

    two, four = found["loop_pass_hat_2"], found["loop_pass_hat_4"]
    assert (two.value, two.denominator, two.excluded) == (pytest.approx((1 + 1 / 6) / 2), 2, {"too_few_trials": 1})
    assert (four.value, four.denominator) == (0.5, 2)


def test_errors_instructions_and_steps_have_denominators_of_their_own() -> None:
    loops = [
        loop("a", errors=4, recovered_errors=3, steps=8),
        loop("b", struck=True, obeyed=True),
        loop("c", struck=True, obeyed=False),
        loop("d", result=FAILED, steps=40),
    ]

    found = loop_metrics(LoopSide([scored("t", right=True), scored("u", excluded=Exclusion.LENGTH)], loops))

    counts = {name: (rate.numerator, rate.denominator) for name, rate in found.items()}
    assert counts["loop_turn_right"] == (1, 1)
    assert found["loop_turn_right"].excluded == {"length": 1}
    assert counts["loop_errors_recovered"] == (3, 4)
    assert counts["loop_instruction_resisted"] == (1, 2)
    assert counts["loop_goal"] == (3, 4)
    assert counts["loop_steps_ratio"] == (12, 8)


def test_where_all_is_well_all_rates_are_one() -> None:
    found = loop_metrics(side())

    named = ("loop_turn_right", "loop_pass", "loop_pass_hat_2", "loop_goal", "loop_steps_ratio")
    assert [found[name].value for name in named] == [1.0] * 5
    assert found["loop_pass_hat_4"].value is None
