"""What a run of tool-call cases says of an endpoint: has it changed, and how far is it from its reference?

Four families of questions, each with the error of its own, and none that counts another's failures: whether answers
come, whether the serving stack keeps to the protocol, whether tools are called when they should be, and whether what
is called is right. Cases are compared with themselves only, as each run asks another share of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from monitor.drift.failures import fisher, more_failures
from monitor.drift.findings import Finding
from monitor.drift.multiplicity import Family, across_families
from monitor.drift.rule import Verdict
from monitor.drift.ternary import (
    DEFAULT_MARGINS,
    Difference,
    Margin,
    Outcome,
    detectable,
    difference,
    outcome,
    verdict,
)
from monitor.drift.tool_comparison import TRIGGER_CATEGORIES
from monitor.drift.trigger import Paired, prompt_test, rate_test
from probes.tools.attribution import Layer, layer_of
from probes.tools.ladder import Rung
from probes.tools.scored import Scored

RATE = "rate"
_FAMILIES = (Family.AVAILABILITY, Family.CONFORMANCE, Family.TRIGGER, Family.ARGUMENTS)
# Of fewer cases on both sides nothing is concluded.
LEAST_CASES = 8
# Availability has no margin in PROBES.md: what a team would call an outage.
_AVAILABLE = Margin(0.02)

Success = Callable[[Scored], bool | None]


@dataclass(frozen=True, slots=True)
class ToolAssessment:
    """A finding a family: `drift` against the endpoint's accepted runs, `fidelity` against its reference, which is a
    standing finding and never `drift`."""

    drift: Mapping[Family, Finding]
    fidelity: Mapping[Family, Finding]


def assess_tools(
    now: Sequence[Scored], *, past: Sequence[Scored], reference: Sequence[Scored], no_past: str, no_reference: str
) -> ToolAssessment:
    """`no_past` and `no_reference` say why there are none of them to compare with."""
    drift = _against(now, past, no_past)
    fidelity = {
        family: _standing(finding) for family, finding in _against(now, reference, no_reference, _QUALITY).items()
    }
    return ToolAssessment(drift, fidelity)


def paired(now: Iterable[Scored], other: Iterable[Scored], success: Success) -> Paired:
    """Successes of each case on both sides; answers of which there is nothing to say are in neither count."""
    ours, theirs = _counted(now, success), _counted(other, success)
    keys = [key for key in ours if key in theirs]
    x, y = [ours[key] for key in keys], [theirs[key] for key in keys]
    return Paired.of([sum(one) for one in x], [len(one) for one in x], [sum(one) for one in y], [len(one) for one in y])


def failures(successes: Paired) -> Paired:
    return Paired(successes.r_x - successes.x, successes.r_x, successes.r_y - successes.y, successes.r_y)


class _Asked(NamedTuple):
    """A test's p. bounded: it asks for the difference of the two rates, which is no matter unless it is beyond the
    margin; otherwise for single cases that moved, which may cancel out."""

    p: float
    bounded: bool = True


@dataclass(frozen=True, slots=True)
class _Question:
    """Successes, the margin within which a difference is no matter, and the tests that ask for a change."""

    success: Success
    margin: Margin
    tests: Callable[[Paired], Sequence[_Asked]]


@dataclass(frozen=True, slots=True)
class _Told:
    """What came of a question that enough cases answer."""

    question: _Question
    sides: Paired
    moved: Difference
    outcome: Outcome

    @property
    def p_values(self) -> list[float]:
        failed = self.outcome is Outcome.FAIL
        return [one.p if failed or not one.bounded else 1.0 for one in self.question.tests(self.sides)]


def _against(
    now: Sequence[Scored], other: Sequence[Scored], no_other: str, families: Sequence[Family] = _FAMILIES
) -> dict[Family, Finding]:
    if not other:
        return {family: Finding(Verdict.INCONCLUSIVE, no_other, unit=RATE, n=len(now)) for family in families}
    sides = {family: [(one, paired(now, other, one.success)) for one in _QUESTIONS[family]] for family in families}
    told = {family: [found for one, both in asked if (found := _told(one, both))] for family, asked in sides.items()}
    adjusted = across_families({family: [p for one in found for p in one.p_values] for family, found in told.items()})
    return {
        family: _finding(told[family], adjusted[family])
        if told[family]
        else _too_few(max(len(both) for _, both in sides[family]))
        for family in families
    }


def _told(question: _Question, sides: Paired) -> _Told | None:
    moved = difference(sides) if len(sides) >= LEAST_CASES else None
    return None if moved is None else _Told(question, sides, moved, outcome(moved, question.margin))


def _too_few(cases: int) -> Finding:
    why = f"{cases} cases in common, and {LEAST_CASES} are needed"
    return Finding(Verdict.INCONCLUSIVE, why, unit=RATE, n=cases)


def _finding(told: Sequence[_Told], p: float) -> Finding:
    """The family's verdict, with the figures of the question that fell furthest by its margin."""
    worst = min(told, key=lambda one: one.moved.value / one.question.margin.width)
    sides = worst.sides
    now, then = float(sides.x.sum() / sides.r_x.sum()), float(sides.y.sum() / sides.r_y.sum())
    return Finding(
        verdict=verdict([one.outcome for one in told], p),
        reason=f"{now:.3f} against {then:.3f}",
        value=worst.moved.value,
        unit=RATE,
        interval=worst.moved.interval,
        baseline=then,
        detectable=detectable(worst.moved),
        target=worst.question.margin.width,
        adjusted_p=p,
        n=len(sides),
    )


def _standing(finding: Finding) -> Finding:
    """To differ from the reference is said once, and is no event."""
    return replace(finding, verdict=Verdict.SUSPECT) if finding.verdict is Verdict.DRIFT else finding


def _counted(answers: Iterable[Scored], success: Success) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        if (right := success(answer)) is not None:
            found[answer.case_key].append(right)
    return dict(found)


def _available(answer: Scored) -> bool | None:
    return answer.availability.first_ok


def _conforms(answer: Scored) -> bool | None:
    return not any(layer_of(quirk) is Layer.STACK for quirk in answer.defects) if answer.completed else None


def _called(answer: Scored) -> bool | None:
    return answer.called if answer.category in TRIGGER_CATEGORIES and answer.excluded is None else None


def _within_schema(answer: Scored) -> bool | None:
    return _passes(answer, Rung.SCHEMA_MISMATCH)


def _with_values(answer: Scored) -> bool | None:
    return _passes(answer, Rung.VALUE_MISMATCH) if all(call.judged for call in answer.calls) else None


def _passes(answer: Scored, rung: Rung) -> bool | None:
    """Whether all its calls get past the rung; an answer that called nothing says nothing of arguments."""
    if answer.excluded is not None or not answer.calls:
        return None
    return all(call.strict.height > rung.height for call in answer.calls)


def _more_fail(successes: Paired) -> Sequence[_Asked]:
    return (_Asked(more_failures(failures(successes))),)


def _more_tries_fail(successes: Paired) -> Sequence[_Asked]:
    """Tries fail by themselves, whatever they ask."""
    failed = failures(successes)
    counts = (int(each.sum()) for each in (failed.x, failed.r_x, failed.y, failed.r_y))
    return (_Asked(fisher(*counts)),)


def _triggers_moved(successes: Paired) -> Sequence[_Asked]:
    return (_Asked(rate_test(successes)[1]), _Asked(prompt_test(successes), bounded=False))


_QUESTIONS: Mapping[Family, Sequence[_Question]] = {
    Family.AVAILABILITY: (_Question(_available, _AVAILABLE, _more_tries_fail),),
    Family.CONFORMANCE: (_Question(_conforms, DEFAULT_MARGINS["conformance_ok"], _more_fail),),
    Family.TRIGGER: (_Question(_called, DEFAULT_MARGINS["trigger_rate"], _triggers_moved),),
    Family.ARGUMENTS: (
        _Question(_within_schema, DEFAULT_MARGINS["schema_ok"], _more_fail),
        _Question(_with_values, DEFAULT_MARGINS["value_ok"], _more_fail),
    ),
}
# The reference's own availability is no measure of anybody's.
_QUALITY = (Family.CONFORMANCE, Family.TRIGGER, Family.ARGUMENTS)
