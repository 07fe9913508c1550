from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitor.drift.loop_assess import LoopAssessment, LoopSide, assess_loops
from monitor.drift.multiplicity import Family
from monitor.drift.rule import Verdict
from probes.loops.defects import LoopDefect
from probes.loops.loop import Arm
from probes.loops.result import Stop
from probes.quirks import Quirk
from probes.tools.scored import Exclusion
from tests.monitor.drift.graded_loops import FAILED, PASSED, loop, side
from tests.monitor.drift.scored_answers import LOST

QUIET = (Verdict.OK, Verdict.INCONCLUSIVE)


def against(now: LoopSide, past: LoopSide) -> LoopAssessment:
    return assess_loops(now, past=past, reference=past, no_past="none", no_reference="none")


def loud(found: LoopAssessment) -> dict[Family, Verdict]:
    return {family: finding.verdict for family, finding in found.drift.items() if finding.verdict not in QUIET}


def test_what_did_not_change_is_not_said_to_have() -> None:
    assert loud(against(side(), side())) == {}
    assert loud(against(side(loops_fail=4, turns_fail=30), side(loops_fail=4, turns_fail=30))) == {}


@pytest.mark.parametrize(
    "now",
    [
        side(loops_fail=12, stop=Stop.LOOP_STUCK),
        side(loops_fail=12, stop=Stop.DEFECT, defects=(LoopDefect.HISTORY_REFUSED.value,)),
        side(turns_fail=60),
    ],
)
def test_work_that_is_not_done_any_longer_is_drift_of_the_loops_alone(now: LoopSide) -> None:
    found = against(now, side())

    assert loud(found) == {Family.LOOP: Verdict.DRIFT}
    assert found.fidelity.verdict is Verdict.SUSPECT


def test_to_do_better_than_before_or_than_the_reference_is_no_fault() -> None:
    found = against(side(), side(loops_fail=12, turns_fail=60))

    assert loud(found) == {}
    assert found.fidelity.verdict is Verdict.OK


def test_what_the_stack_breaks_is_its_own_and_not_held_against_the_work() -> None:
    broken = side(loops_fail=12, stop=Stop.DEFECT, defects=(Quirk.TC_AS_TEXT.value,))
    now = replace(
        broken, turns=[replace(one, defects=frozenset({Quirk.TC_AS_TEXT}), right=False) for one in broken.turns]
    )

    assert loud(against(now, side())) == {Family.CONFORMANCE: Verdict.DRIFT}


def test_a_defect_of_the_free_histories_alone_is_one_of_the_stack() -> None:
    now = side(loops_fail=12, defects=(Quirk.FINISH_STOP_WITH_TOOL_CALLS.value,), goal_state_ok=True)

    assert loud(against(now, side())) == {Family.CONFORMANCE: Verdict.DRIFT}


def test_tries_that_fail_are_counted_in_availability_alone() -> None:
    lost = [
        replace(one, availability=LOST, completed=False, right=None, excluded=Exclusion.TRANSPORT)
        for one in side().turns
    ]
    loops = [replace(one, result=replace(FAILED, excluded=Exclusion.TRANSPORT)) for one in side().loops]

    assert loud(against(LoopSide(lost[:50] + list(side().turns)[50:], loops), side())) == {
        Family.AVAILABILITY: Verdict.SUSPECT
    }


def test_loops_are_compared_with_those_that_were_asked_in_the_same_way() -> None:
    canonical = [loop(f"e{number}", arm=Arm.CANONICAL_IDS, result=FAILED) for number in range(12)]
    past = side()

    found = against(LoopSide(past.turns, [*past.loops, *canonical]), past)

    assert loud(found) == {}


def test_without_a_past_or_a_reference_it_says_why() -> None:
    found = assess_loops(side(), past=LoopSide(), reference=LoopSide(), no_past="first", no_reference="no reference")

    assert {(finding.verdict, finding.reason) for finding in found.drift.values()} == {(Verdict.INCONCLUSIVE, "first")}
    assert (found.fidelity.verdict, found.fidelity.reason) == (Verdict.INAPPLICABLE, "no reference")


def test_too_few_exercises_in_common_decide_nothing_and_take_nothing_from_the_turns() -> None:
    few = side()

    found = against(LoopSide(side(turns_fail=60).turns, few.loops[:4]), few)

    assert loud(found) == {Family.LOOP: Verdict.DRIFT}
    nothing = against(LoopSide((), few.loops[:4]), few).drift[Family.LOOP]
    assert (nothing.verdict, nothing.reason) == (Verdict.INCONCLUSIVE, "2 cases in common, and 8 are needed")


def week(number: int, fails: frozenset[int] = frozenset(), *, runs: int = 1) -> LoopSide:
    """Twelve exercises of a week of its own, of which some fail in each of its loops."""
    failing = {place: FAILED if place in fails else PASSED for place in range(12)}
    return LoopSide(
        (),
        [
            loop(f"week-{number}-{place}", run, kind=f"kind-{place}", result=result)
            for run in range(runs)
            for place, result in failing.items()
        ],
    )


def test_another_week_s_exercises_are_compared_by_their_kind() -> None:
    broken = against(week(2, frozenset(range(12))), week(1, runs=5))

    assert loud(against(week(2), week(1, runs=5))) == {}
    assert loud(broken) == {Family.LOOP: Verdict.SUSPECT}
    assert broken.drift[Family.LOOP].n == 12


def test_repeats_of_an_exercise_are_no_more_evidence_than_one() -> None:
    """What a week's exercises are is chance: one that is hard fails in all of its loops."""
    hard = [frozenset({0, 1, 2, 3}), frozenset({4, 5, 6, 7})]

    found = against(week(2, hard[1], runs=5), week(1, hard[0], runs=5))

    assert found.drift[Family.LOOP].adjusted_p == pytest.approx(1.0, abs=0.4)
    assert loud(found) == {}


def test_weeks_of_the_same_difficulty_are_seldom_suspected() -> None:
    rng = np.random.default_rng(5)

    def drawn(number: int, runs: int) -> LoopSide:
        return week(number, frozenset(np.flatnonzero(rng.random(12) < 0.4).tolist()), runs=runs)

    found = [against(drawn(2, 1), drawn(1, 5)).drift[Family.LOOP].adjusted_p for _ in range(60)]

    assert sum(p is not None and p <= 0.05 for p in found) <= 8


def test_loops_of_the_time_with_one_week_only_have_no_kind_to_be_compared_by() -> None:
    old = LoopSide((), [replace(one, kind="") for one in week(1).loops])

    assert against(week(2, frozenset(range(12))), old).drift[Family.LOOP].n == 0
