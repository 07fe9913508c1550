"""Holds an answer against its case's oracle, and says in which layer it went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from probes.complaint import read_complaints
from probes.completion import Completion
from probes.plan import Sample
from probes.quirks import Quirk
from probes.tools.attribution import Layer, layer_of
from probes.tools.calls import JudgedCalls
from probes.tools.case import Case, Category, Oracle, Trigger
from probes.tools.ladder import Info, Rung
from probes.tools.matchers import matches
from probes.tools.schemas import compiled
from probes.tools.scored import Exclusion, Fault, Scored, ScoredCall
from probes.wire.argument_schema import SchemaFault
from probes.wire.call_syntax import holds_call_syntax
from probes.wire.json_value import as_integer, parse_exact_json
from probes.wire.message import without_tags

_THINK_TAGS = ("<think>", "</think>")

# What no model can bring about, or prevent, by what it writes.
_STACKS = frozenset(
    {
        Fault.CALL_AS_TEXT,
        Fault.CALL_IN_REASONING,
        Fault.FINISH,
        Fault.CALL_COMPLETED,
        Fault.CONTENT_NOT_JSON,
        Fault.CONTENT_SCHEMA,
        Fault.REASONING_MISSING,
        Fault.REASONING_PRESENT,
        Fault.REASONING_LEAKED,
        Fault.NOT_REFUSED,
        Fault.REFUSAL_UNNAMED,
    }
)
# Controls that a stack enforces or ignores.
_STACKS_OF_CONTROLS = _STACKS | {Fault.NOT_CALLED, Fault.CALLED, Fault.CALL_MISSING, Fault.CALL_EXTRA}
_LOST_CALLS = frozenset({Fault.CALL_AS_TEXT, Fault.CALL_IN_REASONING})
_OF_LOST_CALLS = frozenset({Fault.NOT_CALLED, Fault.CALL_MISSING, Fault.FINISH})
# Where a stack breaks what is in a call, these show.
_BROKEN_BY_THE_STACK = frozenset(
    {
        Quirk.TC_ARGS_DUPLICATED,
        Quirk.TC_ARGS_PREFIX_JUNK,
        Quirk.TC_ARGS_TYPE_STRINGIFIED,
        Quirk.FINISH_MASKS_LENGTH,
        Quirk.SPECIAL_TOKEN_LEAK,
        Quirk.REPLACEMENT_CHAR,
    }
)
_IN_CALLS = frozenset({Fault.CALL_BROKEN, Fault.VALUES})
_OF_CALLS_RUN_TOGETHER = frozenset({Fault.CALL_BROKEN, Fault.CALL_MISSING})
# Where a stack breaks what is in the text, these show.
_TEXT_BROKEN_BY_THE_STACK = frozenset(
    {
        Quirk.SSE_FRAME_CORRUPT,
        Quirk.SPECIAL_TOKEN_LEAK,
        Quirk.REASONING_ONLY,
        Quirk.LONE_SURROGATE,
        Quirk.REPLACEMENT_CHAR,
    }
)
# A parser that lets control tokens through takes the wrong words for names, and calls for text.
_OF_LEAKED_TOKENS = frozenset({Fault.CALL_MISSING, Fault.CALL_EXTRA})


def call_faults(oracle: Oracle, calls: JudgedCalls, *, repaired: bool) -> frozenset[Fault]:
    """What is wrong with the calls, as they came or as repaired."""
    if not calls.scored:
        return frozenset({Fault.NOT_CALLED} if oracle.trigger is Trigger.MUST else ())
    if oracle.trigger is Trigger.MUST_NOT:
        return frozenset({Fault.CALLED})
    rungs = [call.lenient if repaired else call.strict for call in calls.scored]
    seen = {
        Fault.CALL_BROKEN: any(rung.height < Rung.VALUE_MISMATCH.height for rung in rungs),
        Fault.VALUES: any(map(_has_other_values, calls.scored)),
        Fault.CALL_MISSING: calls.missing > 0,
        Fault.CALL_EXTRA: calls.extra > 0,
    }
    return frozenset(fault for fault, there in seen.items() if there)


def other_faults(case: Case, answer: Completion, calls: JudgedCalls) -> Iterator[Fault]:
    """What is wrong with all of the answer but its calls."""
    oracle = case.oracle
    if not oracle.answered:
        yield Fault.NOT_REFUSED
    # A call that the provider turned down ended in an error, and for no reason of its own.
    rejected = Quirk.TC_PROVIDER_REJECTED in answer.quirks
    if oracle.finish and not rejected and answer.finish_reason not in _finishes(oracle, called=bool(calls.scored)):
        yield Fault.FINISH
    if not calls.scored:
        yield from _lost_calls(case, answer)
        if oracle.content_schema is not None and (fault := _of_content(case, answer)) is not None:
            yield fault
    if oracle.content is not None and not matches(oracle.content, without_tags(answer.content or "")):
        yield Fault.CONTENT
    if oracle.reasoning is not None:
        yield from _of_reasoning(oracle, answer)


def content_fault(case: Case, answer: Completion) -> SchemaFault | None:
    """The first fault of content that is JSON but does not pass the case's schema."""
    if case.oracle.content_schema is None:
        return None
    try:
        value = parse_exact_json(answer.content or "")
    except ValueError:
        return None
    return compiled(case.oracle.content_schema, formats=case.formats).judge(value).fault


def cut_faults(case: Case, answer: Completion, calls: JudgedCalls) -> frozenset[Fault] | Exclusion:
    """What is wrong with an answer that `max_tokens` should have ended inside its arguments."""
    broken = bool(calls.scored) and calls.scored[-1].strict is Rung.INVALID_JSON
    completed = {Fault.CALL_COMPLETED} if calls.scored and not broken else set()
    if answer.finish_reason == "length":
        return frozenset(completed)
    used, limit = None if answer.usage is None else answer.usage.completion_tokens, _limit(case.request)
    reached = used is not None and limit is not None and used >= limit
    return frozenset({Fault.FINISH} | completed) if reached or broken else Exclusion.UNCUT


def refusal_faults(oracle: Oracle, sample: Sample) -> frozenset[Fault]:
    """What is wrong with a refusal that may be right."""
    body = sample.attempts[-1].body if sample.attempts else b""
    said = sample.completion.error_message if sample.completion is not None else None
    complaints = read_complaints(body or (said or "").encode())
    named = any(
        name in complaint.named or complaint.position(name) is not None
        for complaint in complaints
        for name in oracle.refusal_names
    )
    return frozenset() if named or not oracle.refusal_names else frozenset({Fault.REFUSAL_UNNAMED})


def layer_of_answer(case: Case, scored: Scored) -> Layer | None:
    """Where a judged answer went wrong; of a right one, whether its form was without defects."""
    faults, defects = scored.faults, scored.defects
    if not faults:
        return Layer.STACK if Layer.STACK in map(layer_of, defects) else None
    stacks = _STACKS_OF_CONTROLS if case.category is Category.T10 else _STACKS
    if faults & _LOST_CALLS:
        stacks |= _OF_LOST_CALLS
    if defects & _BROKEN_BY_THE_STACK:
        stacks |= _IN_CALLS
    if any(Info.RUN_TOGETHER in call.infos for call in scored.calls):
        stacks |= _OF_CALLS_RUN_TOGETHER
    if defects & _TEXT_BROKEN_BY_THE_STACK:
        stacks |= {Fault.CONTENT}
    if Quirk.SPECIAL_TOKEN_LEAK in defects:
        stacks |= _OF_LEAKED_TOKENS
    return Layer.STACK if scored.right_repaired or faults <= stacks else Layer.MODEL


def _finishes(oracle: Oracle, *, called: bool) -> tuple[str, ...]:
    """What may end such an answer. One that calls where it should not, or the other way round, is wrong for that alone:
    its end is right where it fits what came."""
    if oracle.trigger is Trigger.MUST and not called:
        return ("stop",)
    if oracle.trigger is Trigger.MUST_NOT and called:
        return ("tool_calls", "function_call")
    return oracle.finish


def _has_other_values(call: ScoredCall) -> bool:
    return call.expected is not None and call.lenient is Rung.VALUE_MISMATCH


def _lost_calls(case: Case, answer: Completion) -> Iterator[Fault]:
    """Calls that were written and not parsed. Where calling is switched off, none are to be parsed."""
    if case.request.get("tool_choice") == "none":
        return
    if Quirk.TC_AS_TEXT in answer.quirks:
        yield Fault.CALL_AS_TEXT
    if case.oracle.trigger is Trigger.MUST and holds_call_syntax(answer.reasoning or "", ()):
        yield Fault.CALL_IN_REASONING


def _of_content(case: Case, answer: Completion) -> Fault | None:
    if answer.refusal and not answer.content:
        return Fault.CONTENT
    try:
        parse_exact_json(answer.content or "")
    except ValueError:
        return Fault.CONTENT_NOT_JSON
    return None if content_fault(case, answer) is None else Fault.CONTENT_SCHEMA


def _of_reasoning(oracle: Oracle, answer: Completion) -> Iterator[Fault]:
    if oracle.reasoning == "present" and not answer.reasoning:
        yield Fault.REASONING_MISSING
    if oracle.reasoning == "absent" and answer.reasoning:
        yield Fault.REASONING_PRESENT
    if any(tag in (answer.content or "") for tag in _THINK_TAGS):
        yield Fault.REASONING_LEAKED


def _limit(request: Mapping[str, Any]) -> int | None:
    return as_integer(request.get("max_completion_tokens") or request.get("max_tokens"))
