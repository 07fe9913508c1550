"""What a run of tool-call cases says of an endpoint: has it changed, and how far is it from its reference?

Four families of questions, each with the error of its own, and none that counts another's failures: whether answers
come, whether the serving stack keeps to the protocol, whether tools are called when they should be, and whether what
is called is right. Cases that both sides have are compared with themselves, as each run asks another share of them;
those of other weeks by their kind. A fifth family holds the run against itself: are answers alike, streamed or not? All
that is tested of a run is adjusted together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.drift.by_kind import CaseSide, alone, by_kind
from monitor.drift.family import RATE, Compared, Told, answered, judged
from monitor.drift.findings import Finding
from monitor.drift.multiplicity import Family
from monitor.drift.questions import Asked, Question
from monitor.drift.rule import Verdict
from monitor.drift.ternary import DEFAULT_MARGINS, Margin
from monitor.drift.tool_comparison import Discordant, compare_twins, judged_twins
from monitor.drift.tool_questions import QUESTIONS, Success, arguments_moved, conforms, paired
from monitor.drift.twins import twins_test
from probes.tools.scored import Scored

_FAMILIES = (Family.AVAILABILITY, Family.CONFORMANCE, Family.TRIGGER, Family.ARGUMENTS)
# The reference's own availability is no measure of anybody's.
_QUALITY = (Family.CONFORMANCE, Family.TRIGGER, Family.ARGUMENTS)
_NO_SIDE = CaseSide()
_ALIKE: Sequence[tuple[str, Success, str]] = (
    ("answers that call a tool", lambda answer: answer.called, "trigger_rate"),
    ("answers that keep to the protocol", conforms, "conformance_ok"),
    ("answers that are right", lambda answer: answer.right, "value_ok"),
)


@dataclass(frozen=True, slots=True)
class ToolAssessment:
    """A finding a family: `drift` against the endpoint's accepted runs; `fidelity` against its reference, and of twins
    against one another, which are standing findings and never `drift`."""

    drift: Mapping[Family, Finding]
    fidelity: Mapping[Family, Finding]


def assess_tools(
    now: Sequence[Scored],
    *,
    past: Sequence[Scored],
    reference: Sequence[Scored],
    no_past: str,
    no_reference: str,
    shares: int = 1,
    kindred: CaseSide = _NO_SIDE,
) -> ToolAssessment:
    """`no_past` and `no_reference` say why there are none of them to compare with; `shares` are those of the check.
    `kindred` are those of the past answers whose cases were drawn as this run's, with the reference's to them."""
    others = alone(CaseSide(now, reference), kindred)
    drift = {family: _compared(family, now, past, no_past, _by_kind(family, *others)) for family in _FAMILIES}
    fidelity = {family: _compared(family, now, reference, no_reference) for family in _QUALITY}
    fidelity[Family.TWINS] = _twins(now)
    return ToolAssessment(*judged(drift, fidelity, shares))


def _compared(
    family: Family, now: Sequence[Scored], other: Sequence[Scored], no_other: str, others: Sequence[Told] = ()
) -> Compared:
    if not other:
        return Compared((), (), Finding(Verdict.INCONCLUSIVE, no_other, unit=RATE, n=len(now)))
    asked = [(one, paired(now, other, one.success)) for one in QUESTIONS[family]]
    found = answered(asked, others=others)
    moved = arguments_moved(now, other) if family is Family.ARGUMENTS and found.told else None
    return found if moved is None else replace(found, p_values=[*found.p_values, moved])


def _by_kind(family: Family, now: CaseSide, then: CaseSide) -> list[Told]:
    if family not in _QUALITY:
        now, then = CaseSide(now.answers), CaseSide(then.answers)
    told = [by_kind(question, now, then) for question in QUESTIONS[family]]
    return [one for one in told if one is not None]


def _twins(now: Sequence[Scored]) -> Compared:
    """Streamed answers against their twins."""
    found, pairs = compare_twins(now), judged_twins(now)
    streamed, plain = [one for one, _ in pairs], [other for _, other in pairs]
    sides = [
        (_alike(asks, success, margin, alone), paired(streamed, plain, success))
        for (asks, success, margin), alone in zip(_ALIKE, (found.called, found.defective, found.wrong), strict=True)
    ]
    return replace(answered(sides, "asked both ways"), words="streamed against plain: ")


def _alike(asks: str, success: Success, margin: str, alone: Discordant) -> Question[Scored]:
    p = twins_test(alone.only_stream, alone.only_plain)
    return Question(asks, success, Margin(DEFAULT_MARGINS[margin].width, one_sided=False), lambda _: (Asked(p),))
