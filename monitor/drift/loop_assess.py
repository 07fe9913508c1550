"""What a run of agent loops says of an endpoint: has it changed, and how far is it from its reference?

The scripted arm compares turn by turn, as each is asked with the same history on both sides; the free arm compares what
whole loops come to, where a turn may go astray because of the one before. Exercises change each week but for the
anchors: those that both sides have are compared with themselves, the others by their kind.

Three families of questions, none of which counts another's failures: whether answers come, whether the serving stack
keeps to the protocol, and whether the work gets done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.drift.family import RATE, Compared, answered, judged
from monitor.drift.findings import Finding
from monitor.drift.multiplicity import Family
from monitor.drift.questions import AVAILABLE, Question, more_fail, more_tries_fail, paired, successes
from monitor.drift.rule import Verdict
from monitor.drift.ternary import DEFAULT_MARGINS
from monitor.drift.tool_questions import available, conforms
from monitor.drift.trigger import Paired
from probes.loops.graded import GradedLoop
from probes.quirks import Quirk
from probes.tools.attribution import Layer, layer_of
from probes.tools.scored import Scored

_STACKS = frozenset(quirk.value for quirk in Quirk if layer_of(quirk) is Layer.STACK)

_Posed = tuple[Question[Any], Paired]


@dataclass(frozen=True, slots=True)
class LoopSide:
    """Answers of one side: those to the turns of the scripted arm, and what the free loops came to."""

    turns: Sequence[Scored] = ()
    loops: Sequence[GradedLoop] = ()

    def __bool__(self) -> bool:
        return bool(self.turns or self.loops)


@dataclass(frozen=True, slots=True)
class LoopAssessment:
    """`drift` has a finding a family, against the endpoint's accepted runs; `fidelity` is of the work alone, against
    its reference: a standing finding, and never `drift`."""

    drift: Mapping[Family, Finding]
    fidelity: Finding


def assess_loops(
    now: LoopSide, *, past: LoopSide, reference: LoopSide, no_past: str, no_reference: str, shares: int = 1
) -> LoopAssessment:
    """`no_past` and `no_reference` say why there are none of them to compare with; `shares` are those of the check."""
    drift = {
        family: answered(asked(now, past)) if past else _nothing(Verdict.INCONCLUSIVE, no_past, now)
        for family, asked in _QUESTIONS.items()
    }
    work = answered(_work(now, reference)) if reference else _nothing(Verdict.INAPPLICABLE, no_reference, now)
    changed, standing = judged(drift, {Family.LOOP: work}, shares)
    return LoopAssessment(changed, standing[Family.LOOP])


def _nothing(verdict: Verdict, why: str, now: LoopSide) -> Compared:
    return Compared((), (), Finding(verdict, why, unit=RATE, n=len(now.turns)))


def _availability(now: LoopSide, other: LoopSide) -> Sequence[_Posed]:
    return (_turns(now, other, Question("turns answered at the first try", available, AVAILABLE, more_tries_fail)),)


def _conformance(now: LoopSide, other: LoopSide) -> Sequence[_Posed]:
    """Of the free arm too: its histories hold the endpoint's own ids, which the scripted one's do not."""
    return (
        _turns(
            now,
            other,
            Question("turns that keep to the protocol", conforms, DEFAULT_MARGINS["conformance_ok"], more_fail),
        ),
        *_loops(
            now,
            other,
            Question("loops that keep to the protocol", _loop_conforms, DEFAULT_MARGINS["loop_pass"], more_fail),
        ),
    )


def _work(now: LoopSide, other: LoopSide) -> Sequence[_Posed]:
    return (
        _turns(now, other, Question("turns that are right", _right, DEFAULT_MARGINS["value_ok"], more_fail)),
        *_loops(now, other, Question("loops that reach their goal", _passes, DEFAULT_MARGINS["loop_pass"], more_fail)),
    )


_QUESTIONS = {Family.AVAILABILITY: _availability, Family.CONFORMANCE: _conformance, Family.LOOP: _work}


def _turns(now: LoopSide, other: LoopSide, question: Question[Scored]) -> _Posed:
    return question, paired(now.turns, other.turns, question.success, lambda answer: answer.case_key)


def _loops(now: LoopSide, other: LoopSide, question: Question[GradedLoop]) -> Sequence[_Posed]:
    return _same_exercises(now, other, question), _kinds(now, other, question)


def _same_exercises(now: LoopSide, other: LoopSide, question: Question[GradedLoop]) -> _Posed:
    """Of those ways of asking an exercise that both sides went: in another arm or mode it is another question."""
    ways = {loop.key for loop in now.loops} & {loop.key for loop in other.loops}
    ours, theirs = ([loop for loop in side.loops if loop.key in ways] for side in (now, other))
    return question, paired(ours, theirs, question.success, lambda loop: loop.exercise)


def _kinds(now: LoopSide, other: LoopSide, question: Question[GradedLoop]) -> _Posed:
    """By kind, of the exercises that one side alone has. Which of its kind a week has is a matter of chance, so that
    those of two weeks might as well be exchanged: if each counts once, as its loops fail together, and by as many loops
    on either side, one in each way of asking."""
    both = {loop.exercise for loop in now.loops} & {loop.exercise for loop in other.loops}
    ways = {loop.way for loop in now.loops} & {loop.way for loop in other.loops}
    asked = Question(f"{question.asks}, by kind", _all, question.margin, question.tests)
    ours, theirs = (
        _exercises([one for one in side.loops if one.exercise not in both and one.way in ways], question)
        for side in (now, other)
    )
    return asked, paired(ours, theirs, asked.success, lambda one: one.kind)


@dataclass(frozen=True, slots=True)
class _Exercise:
    """One exercise, and which of its loops that say anything succeeded."""

    kind: str
    succeeded: Sequence[bool]


def _exercises(loops: Sequence[GradedLoop], question: Question[GradedLoop]) -> list[_Exercise]:
    kinds = {loop.exercise: loop.kind for loop in loops if loop.kind}
    one_a_way = {loop.key: loop for loop in reversed(loops)}.values()
    found = successes(one_a_way, question.success, lambda loop: loop.exercise)
    return [_Exercise(kind, found[key]) for key, kind in kinds.items() if key in found]


def _all(one: _Exercise) -> bool | None:
    return all(one.succeeded)


def _right(answer: Scored) -> bool | None:
    """Of an answer that the stack broke nobody knows what the model made of the turn."""
    return answer.right if conforms(answer) else None


def _loop_conforms(loop: GradedLoop) -> bool | None:
    return None if loop.result.excluded else _STACKS.isdisjoint(loop.result.defects)


def _passes(loop: GradedLoop) -> bool | None:
    return loop.result.passed if _loop_conforms(loop) else None
