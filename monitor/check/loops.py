"""The agent loops of a check: what they ask, and what they come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from monitor.check import conclude
from monitor.check.conclude import rate_value
from monitor.check.tool_calls import week_of
from monitor.drift.findings import Finding
from monitor.drift.loop_assess import LoopAssessment, LoopSide
from monitor.drift.loop_metrics import by_exercise, loop_metrics
from monitor.drift.multiplicity import Family
from monitor.store import MetricPoint
from monitor.verdict import LoopValue, RateValue
from probes.loops.exercise import Exercise
from probes.loops.graded import GradedLoop
from probes.loops.loop import Arm, Settings
from probes.loops.plan import LoopPlan, plan
from probes.loops.result import tally
from probes.loops.runs import runs_of
from probes.loops.selection import exercises
from probes.plan import Plan, ProbeKind, Sample
from probes.tools.score import score

# Once plain, once streamed.
_TRIALS = 2


@dataclass(frozen=True, slots=True)
class LoopAnswers:
    """The endpoint's side and the reference's, which is empty where there is none, for the reason given."""

    now: LoopSide
    reference: LoopSide
    no_reference: str


def loop_plan(
    seed: bytes, nonce: bytes, at: datetime, *, whole: bool, part: float = 1.0, answer_tokens: int | None = None
) -> LoopPlan:
    """The exercises of the week of `at`. The whole has the
    free arm with ids of ours besides the endpoint's own, and each turn of the scripted one twice; `part` is of each.
    `answer_tokens`: the most that answers may have, where that is less than usual."""
    made = plan(
        exercises(seed, week_of(at)),
        Settings(),
        seed=seed,
        run_nonce=nonce,
        arms=tuple(Arm) if whole else (Arm.OWN_IDS,),
        trials=_TRIALS,
        reps=2 if whole else 1,
        room=answer_tokens,
    )
    return made.first(part)


def side_of(plan: LoopPlan, samples: Sequence[Sample]) -> LoopSide:
    turns = [score(plan.cases[one.item.key], one) for one in samples if one.item.key in plan.cases]
    return LoopSide(turns, [run.graded for run in runs_of(plan.loops, samples)])


def asked_of(plan: LoopPlan, samples: Sequence[Sample], now: LoopSide) -> Plan:
    """What of the plan the endpoint was asked to the end: all that a comparison has a use for."""
    sent, held = {(one.item.key, one.item.rep) for one in samples}, {(one.key, one.rep) for one in now.loops}
    return replace(
        plan.plan,
        items=tuple(item for item in plan.plan.items if (item.key, item.rep) in sent),
        conversations=tuple(one for one in plan.loops if (one.loop.key, one.loop.rep) in held),
    )


def findings_of(found: LoopAssessment) -> dict[str, Finding]:
    """By the name of the check: `agent_loops.…` against the endpoint's own runs, `fidelity.loop` against the
    reference."""
    drift = {f"{ProbeKind.AGENT_LOOPS.value}.{family.value}": finding for family, finding in found.drift.items()}
    return {**drift, f"fidelity.{Family.LOOP.value}": found.fidelity}


def rate_points(answers: LoopAnswers) -> list[MetricPoint]:
    return conclude.rate_points(ProbeKind.AGENT_LOOPS, loop_metrics(answers.now))


def rate_values(answers: LoopAnswers) -> tuple[RateValue, ...]:
    ours, theirs = loop_metrics(answers.now), loop_metrics(answers.reference)
    return tuple(rate_value(name, rate, theirs[name]) for name, rate in ours.items())


def loop_values(plan: LoopPlan, answers: LoopAnswers) -> tuple[LoopValue, ...]:
    """Exercise by exercise, what its free loops came to."""
    ours, theirs = by_exercise(answers.now.loops), by_exercise(answers.reference.loops)
    asked = {one.loop.exercise.key: one.loop.exercise for one in plan.loops}
    return tuple(_value(made, ours.get(key, []), theirs.get(key, [])) for key, made in asked.items())


def _value(exercise: Exercise, ours: Sequence[GradedLoop], theirs: Sequence[GradedLoop]) -> LoopValue:
    results = [one.result for one in ours]
    now, reference = tally(results), tally(one.result for one in theirs)
    return LoopValue(
        scenario=exercise.task.scenario,
        rounds=exercise.task.rounds,
        fault=exercise.fault.kind.value if exercise.fault else None,
        passed=now.passes,
        trials=now.trials,
        excluded={reason.value: count for reason, count in now.excluded.items()},
        ended=dict(Counter(result.stop.value for result in results)),
        defects=dict(Counter(defect for result in results for defect in result.defects)),
        reference=reference.passes / reference.trials if reference.trials else None,
    )
