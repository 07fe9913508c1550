"""The cases that one side alone has, compared by their kind: most cases of a week are never asked again.

While nothing changed, the cases of one kind (T1, T2, …) might as well be exchanged between weeks. Each is drawn from
the grammars of its kind with the installation's seed and the number of the week, and which of them a run asks is drawn
in the same way: neither knows of the endpoint. Anchors were drawn once for all weeks and stand for the same places in
each, so that they are compared with themselves alone. A kind that one side alone has says nothing.

Where the reference answered the same cases on both sides, a case's value is the difference of its success to the
reference's: that a week's draw is harder drops out. Otherwise it is the success itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from monitor.drift.family import LEAST_CASES, Told
from monitor.drift.questions import Asked, Question, successes
from monitor.drift.strata import Stratum, difference_in_differences, difference_of_shares, fewer, moved
from probes.tools.case import Category
from probes.tools.scored import Scored

# What a reader is told of where a difference lies.
_BY_KIND, _BESIDE = "by kinds of cases over runs and weeks", ", less the reference's"


@dataclass(frozen=True, slots=True)
class CaseSide:
    """An endpoint's answers, and its reference's to the same cases where it has one."""

    answers: Sequence[Scored] = ()
    reference: Sequence[Scored] = ()


def alone(now: CaseSide, then: CaseSide) -> tuple[CaseSide, CaseSide]:
    """What either has of cases that the other has not: by the same repeats of each kind, and one answer to each repeat.
    A case that is asked more often on one side scatters less there, and could not be exchanged."""
    both = {one.case_key for one in now.answers} & {one.case_key for one in then.answers}
    sides = [{(one.category, one.rep) for one in side.answers} for side in (now, then)]
    repeats = sides[0] & sides[1]
    ours, theirs = (
        CaseSide(_once(side.answers, both, repeats), _once(side.reference, both, repeats)) for side in (now, then)
    )
    return ours, theirs


def by_kind(question: Question[Scored], now: CaseSide, then: CaseSide) -> Told | None:
    """What comes of a question to cases of which none is on both sides; None where too few say anything."""
    ours, theirs = _of_shared_kinds(_cases(now, question), _cases(then, question))
    beside = _of_shared_kinds(*([case for case in side if case.reference is not None] for side in (ours, theirs)))
    # With fewer cases more would be lost than the reference takes of their scatter.
    held = all(2 * len(some) >= len(side) for some, side in zip(beside, (ours, theirs), strict=True))
    if held:
        ours, theirs = beside
    if min(len(ours), len(theirs)) < LEAST_CASES:
        return None
    shares = _strata(ours, theirs, _share)
    if held:
        strata = _strata(ours, theirs, _less_the_reference)
        move = difference_in_differences(strata)
    else:
        strata = shares
        move = difference_of_shares(strata, fmean(case.answers for case in (*ours, *theirs)))
    p = fewer(strata) if question.margin.one_sided else moved(strata)
    was = sum(one.weight * float(one.then.mean()) for one in shares) / sum(one.weight for one in shares)
    asks = f"{question.asks}{_BESIDE if held else ''}, {_BY_KIND}"
    return Told(asks, question.margin, move, was, len(ours), (Asked(p),))


@dataclass(frozen=True, slots=True)
class _Case:
    """The share of its `answers` that succeed, and of the reference's; None where those say nothing."""

    kind: Category
    share: float
    answers: int
    reference: float | None


def _share(case: _Case) -> float:
    return case.share


def _less_the_reference(case: _Case) -> float:
    return case.share - (case.reference or 0.0)


def _cases(side: CaseSide, question: Question[Scored]) -> list[_Case]:
    kinds = {one.case_key: one.category for one in side.answers}
    ours, theirs = (successes(one, question.success, _key) for one in (side.answers, side.reference))
    return [
        _Case(kinds[key], fmean(found), len(found), fmean(theirs[key]) if key in theirs else None)
        for key, found in ours.items()
    ]


def _key(answer: Scored) -> str:
    return answer.case_key


def _of_shared_kinds(ours: Sequence[_Case], theirs: Sequence[_Case]) -> tuple[list[_Case], list[_Case]]:
    kinds = {case.kind for case in ours} & {case.kind for case in theirs}
    return [case for case in ours if case.kind in kinds], [case for case in theirs if case.kind in kinds]


def _strata(ours: Sequence[_Case], theirs: Sequence[_Case], value: Callable[[_Case], float]) -> list[Stratum]:
    return [
        Stratum(*(np.array([value(case) for case in side if case.kind is kind]) for side in (ours, theirs)))
        for kind in sorted({case.kind for case in ours})
    ]


def _once(answers: Iterable[Scored], both: Collection[str], repeats: Collection[tuple[Category, int]]) -> list[Scored]:
    fresh = (one for one in answers if not one.anchor and one.case_key not in both)
    first: dict[tuple[str, int], Scored] = {}
    for one in fresh:
        if (one.category, one.rep) in repeats:
            first.setdefault((one.case_key, one.rep), one)
    return list(first.values())
