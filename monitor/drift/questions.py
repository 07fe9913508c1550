"""Questions to one run, family by family: two sides of the same cases, a margin, the tests, and what comes of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from monitor.drift.failures import fisher, more_failures
from monitor.drift.findings import Finding
from monitor.drift.multiplicity import Family, across_families
from monitor.drift.rule import Verdict
from monitor.drift.ternary import Difference, Margin, Outcome, detectable, difference, outcome, verdict
from monitor.drift.trigger import Paired

T = TypeVar("T")

RATE = "rate"
# Of fewer cases on both sides nothing is concluded.
LEAST_CASES = 8


class Asked(NamedTuple):
    """A test's p. bounded: it asks for the difference of the two rates, which is no matter unless it is beyond the
    margin; otherwise for single cases that moved, which may cancel out."""

    p: float
    bounded: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """Successes of both sides, the margin within which a difference is no matter, and the tests that ask for a
    change."""

    sides: Paired
    margin: Margin
    tests: Callable[[Paired], Sequence[Asked]]


def paired(
    now: Iterable[T], other: Iterable[T], case_of: Callable[[T], str], success: Callable[[T], bool | None]
) -> Paired:
    """Successes of each case on both sides; answers of which there is nothing to say are in neither count."""
    ours, theirs = _counted(now, case_of, success), _counted(other, case_of, success)
    keys = [key for key in ours if key in theirs]
    x, y = [ours[key] for key in keys], [theirs[key] for key in keys]
    return Paired.of([sum(one) for one in x], [len(one) for one in x], [sum(one) for one in y], [len(one) for one in y])


def failures(successes: Paired) -> Paired:
    return Paired(successes.r_x - successes.x, successes.r_x, successes.r_y - successes.y, successes.r_y)


def more_fail(successes: Paired) -> Sequence[Asked]:
    return (Asked(more_failures(failures(successes))),)


def more_tries_fail(successes: Paired) -> Sequence[Asked]:
    """Tries fail by themselves, whatever they ask."""
    failed = failures(successes)
    counts = (int(each.sum()) for each in (failed.x, failed.r_x, failed.y, failed.r_y))
    return (Asked(fisher(*counts)),)


def findings(asked: Mapping[Family, Sequence[Question]]) -> dict[Family, Finding]:
    """p is Bonferroni's within a family and Holm's over all of them. A family without enough cases to any of its
    questions is inconclusive, and takes nothing from the others."""
    told = {family: [found for one in questions if (found := _told(one))] for family, questions in asked.items()}
    adjusted = across_families({family: [p for one in found for p in one.p_values] for family, found in told.items()})
    return {
        family: _finding(told[family], adjusted[family])
        if told[family]
        else _too_few(max(len(one.sides) for one in questions))
        for family, questions in asked.items()
    }


def standing(finding: Finding) -> Finding:
    """To differ from the reference is said once, and is no event."""
    return replace(finding, verdict=Verdict.SUSPECT) if finding.verdict is Verdict.DRIFT else finding


@dataclass(frozen=True, slots=True)
class _Told:
    """What came of a question that enough cases answer."""

    question: Question
    moved: Difference
    outcome: Outcome

    @property
    def p_values(self) -> list[float]:
        failed = self.outcome is Outcome.FAIL
        return [one.p if failed or not one.bounded else 1.0 for one in self.question.tests(self.question.sides)]


def _counted(
    answers: Iterable[T], case_of: Callable[[T], str], success: Callable[[T], bool | None]
) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        if (right := success(answer)) is not None:
            found[case_of(answer)].append(right)
    return found


def _told(question: Question) -> _Told | None:
    moved = difference(question.sides) if len(question.sides) >= LEAST_CASES else None
    return None if moved is None else _Told(question, moved, outcome(moved, question.margin))


def _too_few(cases: int) -> Finding:
    why = f"{cases} cases in common, and {LEAST_CASES} are needed"
    return Finding(Verdict.INCONCLUSIVE, why, unit=RATE, n=cases)


def _finding(told: Sequence[_Told], p: float) -> Finding:
    """The family's verdict, with the figures of the question that fell furthest by its margin."""
    worst = min(told, key=lambda one: one.moved.value / one.question.margin.width)
    sides = worst.question.sides
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
