"""Free loops made up of facts: what the tests of their rates share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from monitor.drift.loop_assess import LoopSide
from probes.loops.graded import GradedLoop
from probes.loops.loop import Arm
from probes.loops.result import LoopResult, Stop
from tests.monitor.drift.scored_answers import scored

PASSED = LoopResult(
    stop=Stop.ANSWERED,
    goal_state_ok=True,
    answer_ok=True,
    steps=4,
    oracle_steps=4,
    invalid_calls=0,
    errors=0,
    recovered_errors=0,
    defects=(),
)
FAILED = replace(PASSED, goal_state_ok=False, answer_ok=False)


def loop(
    exercise: str, rep: int = 0, *, arm: Arm = Arm.OWN_IDS, kind: str = "", result: LoopResult = PASSED, **facts: Any
) -> GradedLoop:
    return GradedLoop(f"loop-{exercise}-{arm.value}-plain", exercise, arm, False, rep, replace(result, **facts), kind)


def side(*, loops_fail: int = 0, turns_fail: int = 0, **of_failures: Any) -> LoopSide:
    """Twelve exercises of two loops and a hundred turns, of which so many fail in the way that `of_failures` says."""
    bad = {"goal_state_ok": False, **of_failures}
    loops = [
        loop(f"e{number}", rep, **(bad if number < loops_fail else {})) for number in range(12) for rep in range(2)
    ]
    turns = [scored(f"t{number}", right=number >= turns_fail) for number in range(100)]
    return LoopSide(turns, loops)
