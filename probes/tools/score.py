"""Scores one sample of a case: values in, one `Scored` out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from probes.completion import Completion
from probes.plan import Sample
from probes.quirks import Quirk
from probes.tools.attribution import Layer
from probes.tools.calls import JudgedCalls, judge_calls
from probes.tools.case import Case, Trigger
from probes.tools.scored import Exclusion, Scored
from probes.tools.standing import availability_of, exclusion_of, whole_answer
from probes.tools.verdict import (
    call_faults,
    content_fault,
    cut_faults,
    layer_of_answer,
    other_faults,
    refusal_faults,
)

_LAYERS = {
    Exclusion.TRANSPORT: Layer.TRANSPORT,
    Exclusion.RATE_LIMITED: Layer.TRANSPORT,
    Exclusion.REFUSED: Layer.STACK,
}
_FINISHES_OF_CALLS = frozenset({"tool_calls", "function_call"})
# One function forced by name: the API says stop.
_FINISHES_OF_FORCED = _FINISHES_OF_CALLS | {"stop"}


def score(case: Case, sample: Sample) -> Scored:
    """What `sample` shows. It never raises for anything an endpoint can send."""
    scored = _unjudged(case, sample)
    exclusion = exclusion_of(case.oracle, sample)
    answer = whole_answer(sample)
    if exclusion is not None:
        layer = Layer.STACK if Quirk.FINISH_MASKS_LENGTH in scored.defects else _LAYERS.get(exclusion)
        calls = () if answer is None else judge_calls(case, answer).scored
        return replace(scored, excluded=exclusion, layer=layer, calls=calls)
    if answer is None:
        faults = refusal_faults(case.oracle, sample)
        layer = Layer.STACK if faults else None
        return replace(scored, faults=faults, right=not faults, right_repaired=not faults, layer=layer)
    return _cut(scored, case, answer) if case.oracle.cut else _answered(scored, case, answer)


def _unjudged(case: Case, sample: Sample) -> Scored:
    answer = sample.completion
    return Scored(
        case_key=case.key,
        category=case.category,
        family=case.family,
        trigger=case.oracle.trigger,
        anchor=case.anchor,
        rep=sample.item.rep,
        stream={**sample.item.request, **sample.request}.get("stream") is True,
        availability=availability_of(case.oracle, sample),
        completed=whole_answer(sample) is not None,
        defects=frozenset() if answer is None else frozenset(answer.quirks),
        finish_reason=None if answer is None else answer.finish_reason,
    )


def _answered(scored: Scored, case: Case, answer: Completion) -> Scored:
    calls = judge_calls(case, answer)
    others = frozenset(other_faults(case, answer, calls))
    faults = call_faults(case.oracle, calls, repaired=False) | others
    healed = not (call_faults(case.oracle, calls, repaired=True) | others)
    called = bool(calls.scored)
    judged = replace(
        scored,
        called=called,
        calls=calls.scored,
        matches=calls.matches,
        finish_agrees=_finish_agrees(case, answer),
        missed_as_text=None if called else Quirk.TC_AS_TEXT in answer.quirks,
        parallel_exact=_parallel_exact(case, calls),
        content_fault=None if called else content_fault(case, answer),
        faults=faults,
        right=not faults,
        right_repaired=healed,
    )
    return replace(judged, layer=layer_of_answer(case, judged))


def _cut(scored: Scored, case: Case, answer: Completion) -> Scored:
    """Calls that were cut are no calls: nothing but their being cut is scored."""
    calls = judge_calls(case, answer)
    faults = cut_faults(case, answer, calls)
    if isinstance(faults, Exclusion):
        return replace(scored, excluded=faults, calls=calls.scored)
    judged = replace(scored, faults=faults, right=not faults, right_repaired=not faults)
    return replace(judged, layer=layer_of_answer(case, judged))


def _finish_agrees(case: Case, answer: Completion) -> bool | None:
    """Whether the finish reason says what the parsed calls say; None where a provider let no call through."""
    if Quirk.TC_PROVIDER_REJECTED in answer.quirks:
        return None
    forced = isinstance(case.request.get("tool_choice"), Mapping)
    if not answer.tool_calls:
        return answer.finish_reason not in _FINISHES_OF_CALLS
    return answer.finish_reason in (_FINISHES_OF_FORCED if forced else _FINISHES_OF_CALLS)


def _parallel_exact(case: Case, calls: JudgedCalls) -> bool | None:
    """None where the case does not ask for several calls, or leaves it open whether to call and none came."""
    several = len(case.oracle.calls) > 1 and case.oracle.most_calls is None
    return calls.exact if several and (calls.scored or case.oracle.trigger is Trigger.MUST) else None
