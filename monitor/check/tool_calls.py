"""The tool-call probe of a check: what it asks, and what the answers say."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import ceil

from monitor.check import conclude
from monitor.check.conclude import rate_value
from monitor.check.ledger import Past
from monitor.drift.accumulated import Accumulated
from monitor.drift.findings import Finding
from monitor.drift.multiplicity import Family
from monitor.drift.rule import Verdict
from monitor.drift.stages import Stage, confirm, screen
from monitor.drift.tool_assess import ToolAssessment
from monitor.drift.tool_comparison import TRIGGER_CATEGORIES, compare_triggers, compare_twins
from monitor.drift.tool_metrics import tool_metrics
from monitor.store import MetricPoint
from monitor.verdict import RateValue
from probes.plan import Plan, ProbeKind, Sample
from probes.tools.calibration import FEWEST, enough
from probes.tools.case import Case
from probes.tools.families.reasoning import Switch
from probes.tools.families.suite import Instance, instances
from probes.tools.plan import PLAN_VERSION, ToolPlan, plan, share, with_room
from probes.tools.score import score
from probes.tools.scored import Scored

_START = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH, _TURN = timedelta(weeks=1), timedelta(hours=1)
FIDELITY = "fidelity"
_PREFIX = f"{ProbeKind.TOOL_CALLS.value}."
_ACCUMULATED = f"{_PREFIX}accumulated"
_AMBIGUOUS = f"{_PREFIX}ambiguous"
# To a case, in the mean, that a baseline has to know to be held against all that follows.
_ENOUGH_ANSWERS = 24
# Of a suspicion twice as much is asked as of any other case.
_CONFIRMING_REPS = 2
_SAID = {Stage.HIT: "to be confirmed", Stage.CONFIRMED: "confirmed", Stage.DISMISSED: "not confirmed"}


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
    answer_tokens: int | None = None,
    suspected: Collection[str] = (),
    pool: Sequence[Instance] | None = None,
    switch: Switch | None = None,
) -> ToolPlan:
    """The cases of the week of `at`, all of them or the eighth whose turn it is, and of the requests that `part` which
    comes first: each stretch of a plan asks all its cases alike. Where checks are `suspected`, their cases alone, and
    more often. `answer_tokens`: the most that answers may have; `pool`: what calibration kept of T3's candidates, which
    are not asked where they are too few; `switch`: how reasoning is switched, which is not asked for without."""
    since = at - _START
    asked = pool if pool is None or enough(len(pool)) else ()
    cases = [one.case for one in instances(seed, week_of(at), pool=asked, switch=switch)]
    version = _version(cases, answer_tokens)
    if not whole:
        cases = share(cases, since // _TURN, seed=seed)
    if answer_tokens is not None:
        cases = with_room(cases, answer_tokens)
    own = {name for name in suspected if name.startswith(_PREFIX)}
    made = plan(_again(cases, own) if own else cases, seed=seed, run_nonce=nonce)
    kept = made.plan.items[: ceil(len(made.plan.items) * part)]
    return replace(made, plan=replace(made.plan, items=kept, suite_version=version))


def _version(cases: Sequence[Case], answer_tokens: int | None) -> str:
    """The same for all weeks whose cases are drawn alike and asked with the same room: these may be compared by kind.
    Where families, the seed or what calibration kept are others, the anchors are."""
    drawn = "\n".join([str(answer_tokens), *sorted(case.key for case in cases if case.anchor)])
    return f"{PLAN_VERSION}-{hashlib.sha256(drawn.encode()).hexdigest()[:16]}"


def week_of(at: datetime) -> int:
    """The number of the week in which cases, and exercises, are the same."""
    return (at - _START) // _EPOCH


def _again(cases: Sequence[Case], suspected: Collection[str]) -> list[Case]:
    only_calling = set(suspected) == {_name(ProbeKind.TOOL_CALLS.value, Family.TRIGGER)}
    return [
        replace(case, reps=_CONFIRMING_REPS * case.reps)
        for case in cases
        if not only_calling or case.category in TRIGGER_CATEGORIES
    ]


def score_all(plan: ToolPlan, samples: Sequence[Sample]) -> list[Scored]:
    """Of each sample but the replays, which show a cache and repeat nothing that could count."""
    return [
        score(plan.cases[sample.item.key], sample)
        for sample in samples
        if (sample.item.key, sample.item.rep) not in plan.replays
    ]


def asked_of(plan: ToolPlan, samples: Sequence[Sample]) -> Plan:
    """What of the plan the endpoint was asked and counts: all that a comparison has a use for. How reasoning is
    switched is said in the endpoint's own words, which mean nothing to the reference: it is not asked that."""
    sent = {(sample.item.key, sample.item.rep) for sample in samples} - plan.replays.keys()
    sent = {(key, rep) for key, rep in sent if plan.cases[key].oracle.reasoning is None}
    return replace(plan.plan, items=tuple(item for item in plan.plan.items if (item.key, item.rep) in sent))


def accumulated(
    before: Accumulated | None, past: Past, accepted: Sequence[Scored], now: Sequence[Scored]
) -> Accumulated | None:
    """With this run; None while the baseline knows too little. `before` is what earlier runs left, of this baseline or
    another one; `accepted` are the answers of the baseline's runs."""
    if past.baseline is None:
        return None
    since = past.baseline.runs[0].run_id
    if before is not None and before.since == since and not before.over:
        return before.with_run(now)
    known = len(accepted) >= _ENOUGH_ANSWERS * len({one.case_key for one in accepted})
    return Accumulated.start(since, accepted).with_run(now) if known or not past.open_for_more else None


def findings_of(
    found: ToolAssessment, adds_up: Accumulated | None, suspected: Collection[str], *, confirms: bool, shares: int = 1
) -> dict[str, Finding]:
    """By the name of the check: `tool_calls.trigger` against the endpoint's own runs, `fidelity.trigger` against the
    reference. `suspected` are the checks that a confirming one is about. A stage decides on repeats, not on a verdict:
    what its p pays for are the tests of this run, and not the `shares` of the whole check. Requests that fail are no
    suspicion to ask about again: an endpoint that throttles would be asked twice as much."""
    available = _name(ProbeKind.TOOL_CALLS.value, Family.AVAILABILITY)
    drift = {_name(ProbeKind.TOOL_CALLS.value, family): finding for family, finding in found.drift.items()}
    staged = {
        name: _staged(finding, confirm, shares)
        if name in suspected
        else finding
        if confirms or name == available
        else _staged(finding, screen, shares)
        for name, finding in drift.items()
    }
    summed = {} if adds_up is None else {_ACCUMULATED: adds_up.found}
    return staged | summed | {_name(FIDELITY, family): finding for family, finding in found.fidelity.items()}


def ambiguous_of(doubtful: int | None) -> dict[str, Finding]:
    """That T3 is not asked, where calibration kept so few prompts; nothing where it is."""
    if doubtful is None or enough(doubtful):
        return {}
    why = (
        f"T3 is not asked: the reference is in doubt about {doubtful} of the ambiguous prompts, and {FEWEST} are needed"
    )
    return {_AMBIGUOUS: Finding(Verdict.INAPPLICABLE, why)}


def rate_points(answers: ToolAnswers) -> list[MetricPoint]:
    return conclude.rate_points(ProbeKind.TOOL_CALLS, tool_metrics(answers.now))


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


def _staged(finding: Finding, stage_of: Callable[[float], Stage], shares: int) -> Finding:
    if finding.adjusted_p is None:
        return finding
    stage = stage_of(finding.adjusted_p / shares)
    said = _SAID.get(stage)
    return replace(finding, stage=stage, reason=finding.reason if said is None else f"{finding.reason}, {said}")


def _name(probe: str, family: Family) -> str:
    return f"{probe}.{family.value}"
