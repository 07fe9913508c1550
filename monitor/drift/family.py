"""What came of a run's questions, family by family, by the cases that both sides have: outcomes, p-values, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from monitor.drift.findings import Finding
from monitor.drift.multiplicity import Family, across_families
from monitor.drift.questions import Asked, Question
from monitor.drift.rule import Verdict
from monitor.drift.ternary import Difference, Margin, Outcome, detectable, difference, outcome, verdict
from monitor.drift.trigger import Paired

RATE = "rate"
# Of fewer cases on both sides nothing is concluded.
LEAST_CASES = 8
# Requests fail in bursts, by a throttle or an outage, and a test that takes each for itself bounds no error there.
_IN_BURSTS = frozenset({Family.AVAILABILITY})


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a question that enough cases answer. was: the rate that it moved from, weighted as the move is, so
    that the two make what it is now, less what moved with the reference where that is taken off."""

    asks: str
    margin: Margin
    moved: Difference
    was: float
    cases: int
    tests: Sequence[Asked]

    @property
    def outcome(self) -> Outcome:
        return outcome(self.moved, self.margin)

    @property
    def p_values(self) -> list[float]:
        failed = self.outcome is Outcome.FAIL
        return [one.p if failed or not one.bounded else 1.0 for one in self.tests]


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a family's questions, and the p of all its tests; `nothing` is said where no question was answered,
    `words` go before what was asked."""

    told: Sequence[Told]
    p_values: Sequence[float]
    nothing: Finding
    words: str = ""

    def finding(self, p: float | None) -> Finding:
        """The family's verdict by its adjusted p, with the figures of the question that fell furthest by its margin."""
        if p is None or not self.told:
            return self.nothing
        worst = max(self.told, key=_by_margin)
        return Finding(
            verdict=verdict([one.outcome for one in self.told], p),
            reason=f"{self.words}{worst.asks}",
            value=worst.moved.value,
            unit=RATE,
            interval=worst.moved.interval,
            baseline=worst.was,
            detectable=detectable(worst.moved),
            target=worst.margin.width,
            adjusted_p=p,
            n=worst.cases,
        )


def answered(
    sides: Sequence[tuple[Question[Any], Paired]], which: str = "in common", *, others: Sequence[Told] = ()
) -> Compared:
    """`which` says what cases are counted; `others` came of the cases that are not."""
    told = [*(found for question, both in sides if (found := _told(question, both))), *others]
    cases = max(len(both) for _, both in sides)
    why = f"{cases} case{'' if cases == 1 else 's'} {which}, and {LEAST_CASES} are needed"
    return Compared(
        told, [p for one in told for p in one.p_values], Finding(Verdict.INCONCLUSIVE, why, unit=RATE, n=cases)
    )


def judged(
    drift: Mapping[Family, Compared], fidelity: Mapping[Family, Compared], shares: int
) -> tuple[dict[Family, Finding], dict[Family, Finding]]:
    """The findings of both, of which all that was tested is adjusted together: Bonferroni's p within a family, Holm's
    over all of them, and what the `shares` of the check ask. `fidelity` is standing: to differ from the reference is
    said once, and is no event. Nor is an outage a change of the model or of its stack: a hint, and never drift."""
    now, here = "now", "here"
    asked = {f"{family} {now}": found.p_values for family, found in drift.items()}
    asked |= {f"{family} {here}": found.p_values for family, found in fidelity.items()}
    adjusted = across_families(asked, shares)
    return (
        {
            family: _at_most_suspect(finding) if family in _IN_BURSTS else finding
            for family, found in drift.items()
            for finding in [found.finding(adjusted.get(f"{family} {now}"))]
        },
        {
            family: _at_most_suspect(found.finding(adjusted.get(f"{family} {here}")))
            for family, found in fidelity.items()
        },
    )


def _at_most_suspect(finding: Finding) -> Finding:
    return replace(finding, verdict=Verdict.SUSPECT) if finding.verdict is Verdict.DRIFT else finding


def _told(question: Question[Any], sides: Paired) -> Told | None:
    moved = difference(sides) if len(sides) >= LEAST_CASES else None
    if moved is None:
        return None
    was = float(sides.weights @ sides.q / sides.weights.sum())
    return Told(question.asks, question.margin, moved, was, len(sides), question.tests(sides))


def _by_margin(told: Told) -> float:
    """How far it is on the side that matters, and where both do, on either."""
    moved = told.moved.value / told.margin.width
    return -moved if told.margin.one_sided else abs(moved)
