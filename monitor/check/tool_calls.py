"""The tool-call probe of a check: what it asks, and what the answers say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import ceil

from monitor.check.conclude import rate_value
from monitor.drift.findings import Finding
from monitor.drift.multiplicity import Family
from monitor.drift.tool_assess import ToolAssessment
from monitor.drift.tool_metrics import tool_metrics
from monitor.store import MetricPoint
from monitor.verdict import RateValue
from monitor.drift.tool_comparison import TRIGGER_CATEGORIES, compare_triggers, compare_twins
from probes.plan import ProbeKind, Sample
from probes.tools.families.suite import Instance, instances
from probes.tools.plan import ToolPlan, plan, share
from probes.tools.score import score
from probes.tools.scored import Scored

_START = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH, _TURN = timedelta(weeks=1), timedelta(hours=1)
FIDELITY = "fidelity"


@dataclass(frozen=True, slots=True)
class ToolAnswers:
    """Scored answers to one plan: the endpoint's, and the reference's, or why there are none."""

    now: Sequence[Scored]
    reference: Sequence[Scored]
    no_reference: str = "no reference answers"


def tool_plan(
    seed: bytes,
    nonce: bytes,
    at: datetime,
    *,
    whole: bool,
    part: float = 1.0,
    pool: Sequence[Instance] | None = None,
) -> ToolPlan:
    """The cases of the week of `at`, all of them or the eighth whose turn it is, and of the requests that `part` which
    comes first: each stretch of a plan asks all its cases alike. `pool` is what calibration kept of T3's candidates."""
    since = at - _START
    cases = [one.case for one in instances(seed, since // _EPOCH, pool=pool)]
    if not whole:
        cases = share(cases, since // _TURN, seed=seed)
    made = plan(cases, seed=seed, run_nonce=nonce)
    kept = made.plan.items[: ceil(len(made.plan.items) * part)]
    return replace(made, plan=replace(made.plan, items=kept))


def score_all(plan: ToolPlan, samples: Sequence[Sample]) -> list[Scored]:
    """Of each sample but the replays, which show a cache and repeat nothing that could count."""
    return [
        score(plan.cases[sample.item.key], sample)
        for sample in samples
        if (sample.item.key, sample.item.rep) not in plan.replays
    ]


def findings_of(found: ToolAssessment) -> dict[str, Finding]:
    """By the name of the check: `tool_calls.trigger` against the endpoint's own runs, `fidelity.trigger` against the
    reference."""
    drift = {_name(ProbeKind.TOOL_CALLS.value, family): finding for family, finding in found.drift.items()}
    return drift | {_name(FIDELITY, family): finding for family, finding in found.fidelity.items()}


def rate_points(answers: ToolAnswers) -> list[MetricPoint]:
    return [
        MetricPoint(f"{ProbeKind.TOOL_CALLS.value}.{name}", rate.value, rate.denominator)
        for name, rate in tool_metrics(answers.now).items()
        if rate.value is not None
    ]


def rate_values(answers: ToolAnswers) -> tuple[RateValue, ...]:
    ours, theirs = tool_metrics(answers.now), tool_metrics(answers.reference)
    alone = tuple(rate_value(name, rate, theirs[name]) for name, rate in ours.items())
    twins = compare_twins(answers.now).agreement
    return (
        *alone,
        rate_value("twin_agreement", twins, compare_twins(answers.reference).agreement),
        *_together(answers),
    )


def _together(answers: ToolAnswers) -> tuple[RateValue, ...]:
    """What the two sides make together. The reference's own F1 is its calls against each other: what an endpoint that
    is the reference would have."""
    if not answers.reference:
        return ()
    found = compare_triggers(answers.now, answers.reference)
    distance = rate_value("trigger_gap_mmd", found.gap, None)
    return rate_value("trigger_f1", found.f1, found.self_f1), distance


def _screened(finding: Finding) -> Finding:
    return finding if finding.adjusted_p is None else _staged(finding, screen(finding.adjusted_p))


def _confirmed(finding: Finding) -> Finding:
    return finding if finding.adjusted_p is None else _staged(finding, confirm(finding.adjusted_p))


def _staged(finding: Finding, stage: Stage) -> Finding:
    said = _SAID.get(stage)
    return replace(finding, stage=stage, reason=finding.reason if said is None else f"{finding.reason}, {said}")


def _name(probe: str, family: Family) -> str:
    return f"{probe}.{family.value}"
