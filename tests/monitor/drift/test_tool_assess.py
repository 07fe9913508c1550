from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitor.drift.family import LEAST_CASES
from monitor.drift.multiplicity import Family
from monitor.drift.rule import DRIFT_P, Verdict
from monitor.drift.tool_assess import ToolAssessment, assess_tools
from probes.quirks import Quirk
from probes.tools.case import Category, Trigger
from probes.tools.ladder import Rung
from probes.tools.scored import Exclusion, Scored
from tests.monitor.drift.scored_answers import LOST, call, called, scored

AMBIGUOUS = np.random.default_rng(0).beta(2.0, 2.0, 60)
QUIET = (Verdict.OK, Verdict.INCONCLUSIVE)


def run(seed: int, *, shift: float = 0.0, silent: float = 0.0) -> list[Scored]:
    """120 prompts of eight answers each: 60 that leave the call to chance, 30 that want one and 30 that want none.

    shift: of the chances' log-odds; silent: the share of the prompts that wanted a call and get none any longer.
    """
    rng = np.random.default_rng(seed)
    chances = 1.0 / (1.0 + (1.0 / AMBIGUOUS - 1.0) * np.exp(-shift))
    asked = [(f"t3-{i}", Category.T3, Trigger.CALIBRATED, chance) for i, chance in enumerate(chances)]
    asked += [(f"t1-{i}", Category.T1, Trigger.MUST, 0.0 if i < 60 * silent else 0.995) for i in range(30)]
    asked += [(f"t2-{i}", Category.T2, Trigger.MUST_NOT, 0.005) for i in range(30)]
    return [
        replace(answer, calls=(call(Rung.OK),) if answer.called else ())
        for key, category, trigger, chance in asked
        for answer in called(key, times=int(rng.binomial(8, chance)), of=8, category=category, trigger=trigger)
    ]


def against_past(now: list[Scored], past: list[Scored]) -> ToolAssessment:
    return assess_tools(now, past=past, reference=past, no_past="none", no_reference="none")


def loud(found: ToolAssessment) -> dict[Family, Verdict]:
    return {family: finding.verdict for family, finding in found.drift.items() if finding.verdict not in QUIET}


@pytest.mark.parametrize("seed", range(5))
def test_an_endpoint_that_did_not_change_is_not_said_to_have(seed: int) -> None:
    found = against_past(run(2 * seed), run(2 * seed + 1))

    assert loud(found) == {}
    assert all(finding.adjusted_p is not None for finding in found.drift.values())


def test_no_failure_among_many_prompts_is_ok_and_among_few_decides_nothing() -> None:
    now, past = ([scored(f"c{i}", called=True) for i in range(1_500)] for _ in range(2))

    many, few = against_past(now, past), against_past(now[:120], past[:120])

    assert many.drift[Family.CONFORMANCE].verdict is Verdict.OK
    assert few.drift[Family.CONFORMANCE].verdict is Verdict.INCONCLUSIVE


def test_prompts_that_no_longer_call_are_a_change_of_calling_alone() -> None:
    found = against_past(run(1, silent=0.25), run(2))

    assert loud(found) == {Family.TRIGGER: Verdict.DRIFT}
    assert found.drift[Family.TRIGGER].value == pytest.approx(-0.125, abs=0.03)


def test_a_shift_of_all_chances_is_a_change_of_calling() -> None:
    found = against_past(run(1, shift=-1.0), run(2))

    assert set(loud(found)) == {Family.TRIGGER}
    interval = found.drift[Family.TRIGGER].interval
    assert interval is not None
    assert interval.high < 0.0


def test_broken_frames_are_a_change_of_the_stack_alone() -> None:
    now = run(1)
    broken = [
        replace(one, defects=frozenset({Quirk.TC_INDEX_MISSING})) if i % 7 == 0 else one for i, one in enumerate(now)
    ]

    assert loud(against_past(broken, run(2))) == {Family.CONFORMANCE: Verdict.DRIFT}


def test_arguments_outside_their_schema_are_a_change_of_arguments_alone() -> None:
    now = [
        replace(one, calls=(call(Rung.SCHEMA_MISMATCH),)) if one.calls and i % 6 == 0 else one
        for i, one in enumerate(run(1))
    ]

    assert loud(against_past(now, run(2))) == {Family.ARGUMENTS: Verdict.DRIFT}


def test_calls_that_are_lost_beside_right_ones_are_a_change_of_arguments_alone() -> None:
    def parallel(exact: bool, reps: int) -> list[Scored]:
        facts = {"called": True, "calls": (call(Rung.OK),), "parallel_exact": exact}
        return [scored(f"t9-{number}", rep=rep, **facts) for number in range(12) for rep in range(reps)]

    found = against_past([*run(1), *parallel(exact=False, reps=5)], [*run(2), *parallel(exact=True, reps=10)])

    assert loud(found) == {Family.ARGUMENTS: Verdict.DRIFT}


def lost(one: Scored) -> Scored:
    failed = {"completed": False, "availability": LOST, "excluded": Exclusion.TRANSPORT}
    return scored(one.case_key, category=one.category, rep=one.rep, **failed)


def test_requests_that_fail_are_suspected_in_availability_alone_and_are_no_drift() -> None:
    now = [lost(one) if i % 10 == 0 else one for i, one in enumerate(run(1))]

    found = against_past(now, run(2))

    assert loud(found) == {Family.AVAILABILITY: Verdict.SUSPECT}
    assert found.drift[Family.AVAILABILITY].adjusted_p < DRIFT_P


def test_an_endpoint_that_is_throttled_now_and_then_did_not_drift() -> None:
    """A twentieth of all requests fail, then as now, in bursts: Fisher's test takes each for itself."""
    rng = np.random.default_rng(3)

    def throttled(seed: int) -> list[Scored]:
        answers = run(seed)
        begun = np.flatnonzero(rng.random(len(answers)) < 1 / 1_600)
        failed = {place for start in begun for place in range(start, start + int(rng.geometric(1 / 80)))}
        return [lost(one) if place in failed else one for place, one in enumerate(answers)]

    found = [against_past(throttled(2 * seed), throttled(2 * seed + 1)) for seed in range(12)]

    ps = [one.drift[Family.AVAILABILITY].adjusted_p for one in found]
    assert sum(p is not None and p <= DRIFT_P for p in ps) >= 2
    assert {family for one in found for family in loud(one)} == {Family.AVAILABILITY}
    assert {one.drift[Family.AVAILABILITY].verdict for one in found} <= {*QUIET, Verdict.SUSPECT}


def test_to_be_far_from_the_reference_is_no_change() -> None:
    found = assess_tools(run(1, silent=0.25), past=run(3, silent=0.25), reference=run(2), no_past="", no_reference="")

    assert loud(found) == {}
    assert found.fidelity[Family.TRIGGER].verdict is Verdict.SUSPECT
    assert Family.AVAILABILITY not in found.fidelity


def test_without_a_past_nothing_is_concluded_and_the_reason_is_said() -> None:
    found = assess_tools(run(1), past=[], reference=[], no_past="enrolled", no_reference="no reference")

    assert {(one.verdict, one.reason) for one in found.drift.values()} == {(Verdict.INCONCLUSIVE, "enrolled")}
    twins = found.fidelity[Family.TWINS]
    others = [one for one in found.fidelity.values() if one is not twins]
    assert {(one.verdict, one.reason) for one in others} == {(Verdict.INCONCLUSIVE, "no reference")}
    assert (twins.verdict, twins.reason) == (Verdict.INCONCLUSIVE, "0 cases asked both ways, and 8 are needed")


def test_few_cases_in_common_decide_nothing() -> None:
    now, past = run(1), run(2, silent=1.0)
    few = {one.case_key for one in past if one.category is Category.T1}
    few = set(sorted(few)[: LEAST_CASES - 1])

    found = against_past(now, [one for one in past if one.case_key in few])

    assert loud(found) == {}
    assert found.drift[Family.TRIGGER].reason == f"{LEAST_CASES - 1} cases in common, and {LEAST_CASES} are needed"
