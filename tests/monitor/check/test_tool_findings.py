"""What a check makes of its tool-call answers beside the families' verdicts: stages, sums over runs, rates of both
sides."""

from __future__ import annotations

import pytest

from monitor.check.ledger import Past
from monitor.check.tool_calls import ToolAnswers, accumulated, findings_of, rate_values
from monitor.drift.findings import Finding
from monitor.drift.multiplicity import Family
from monitor.drift.rule import Verdict
from monitor.drift.stages import Stage
from monitor.drift.tool_assess import ToolAssessment
from monitor.store import BaselineMember, BaselineRecord, BaselineRole, BaselineStatus
from probes.plan import ProbeKind
from probes.tools.case import Category
from tests.monitor.drift.scored_answers import called, scored
from tests.monitor.store.material import AT


def assessed(p: float | None) -> ToolAssessment:
    finding = Finding(Verdict.SUSPECT, "0.8 against 0.9", adjusted_p=p)
    return ToolAssessment({Family.TRIGGER: finding}, {Family.TRIGGER: finding})


@pytest.mark.parametrize(
    ("p", "confirms", "suspected", "stage", "said"),
    [
        (0.02, False, (), Stage.HIT, ", to be confirmed"),
        (0.021, False, (), Stage.CLEAR, ""),
        (None, False, (), None, ""),
        (0.002, True, ("tool_calls.trigger",), Stage.CONFIRMED, ", confirmed"),
        (0.02, True, ("tool_calls.trigger",), Stage.DISMISSED, ", not confirmed"),
        (0.002, True, ("tool_calls.arguments",), None, ""),
    ],
)
def test_a_suspicion_is_screened_once_and_then_confirmed_or_not(
    p: float | None, confirms: bool, suspected: tuple[str, ...], stage: Stage | None, said: str
) -> None:
    found = findings_of(assessed(p), None, suspected, confirms=confirms)

    assert (found["tool_calls.trigger"].stage, found["tool_calls.trigger"].reason) == (stage, f"0.8 against 0.9{said}")
    # To be far from the reference is said once; nobody asks again.
    assert found["fidelity.trigger"].stage is None


def test_a_stage_pays_for_the_tests_of_its_run_and_not_for_the_other_probes_of_the_check() -> None:
    found = findings_of(assessed(5 * 0.02), None, (), confirms=False, shares=5)

    assert found["tool_calls.trigger"].stage is Stage.HIT


def test_an_endpoint_whose_requests_fail_is_not_asked_more_for_it() -> None:
    failing = Finding(Verdict.SUSPECT, "answered at the first try", adjusted_p=1e-9)

    found = findings_of(ToolAssessment({Family.AVAILABILITY: failing}, {}), None, (), confirms=False)

    assert found == {"tool_calls.availability": failing}


def past(run_id: str, runs: int = 1) -> Past:
    members = tuple(BaselineMember(f"{run_id}{number or ''}", BaselineRole.ACCEPTED) for number in range(runs))
    tools, active = ProbeKind.TOOL_CALLS, BaselineStatus.ACTIVE
    return Past(BaselineRecord("bl_1", "ep_1", tools, 1, active, "first run", None, AT, None, members))


def test_runs_add_up_from_when_the_baseline_knows_its_cases() -> None:
    few, many = called("a", times=5, of=23), called("a", times=5, of=24)

    assert accumulated(None, Past(), few, few) is None
    assert accumulated(None, past("run_1"), few, few) is None
    assert accumulated(None, past("run_1", 40), few, few) is not None
    first = accumulated(None, past("run_1"), many, few)
    second = accumulated(first, past("run_1", 2), few, few)
    other = accumulated(second, past("run_2"), many, few)
    assert [one and (one.since, one.runs) for one in (first, second, other)] == [
        ("run_1", 1),
        ("run_1", 2),
        ("run_2", 1),
    ]


def test_calls_are_measured_against_what_the_reference_scores_against_itself() -> None:
    now = [
        *called("a", times=4, of=4, category=Category.T3, stream=True),
        *called("a", times=2, of=4, category=Category.T3),
    ]
    reference = called("a", times=2, of=4, category=Category.T3)

    rates = {rate.name: rate for rate in rate_values(ToolAnswers(now, reference))}

    assert (rates["trigger_f1"].value, rates["trigger_f1"].reference) == (pytest.approx(0.6), pytest.approx(1 / 3))
    assert rates["trigger_gap_mmd"].denominator == 1
    assert (rates["twin_agreement"].numerator, rates["twin_agreement"].denominator) == (2, 4)
    alone = {rate.name for rate in rate_values(ToolAnswers([scored()], ()))}
    assert "twin_agreement" in alone
    assert "trigger_f1" not in alone
