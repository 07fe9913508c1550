"""Parameters with a plain rule (stop, max_tokens, n, logit_bias, response_format, tool_choice): trial by trial.

A trial keeps its rule where the answer is one that an endpoint without the parameter would hardly give; it breaks it
where the answer is one that an endpoint with the parameter cannot give; all else shows nothing. A finding needs every
telling trial to agree: an endpoint that does both is none of them, and most likely two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from probes.completion import Completion
from probes.parameters.judgement import ALPHA_ACTS, ALPHA_IGNORED, Effect, Judgement
from probes.parameters.narrowing import judge_refusals
from probes.parameters.trial import Arm, Arms, Fate, answer_of, fate_of, said, shown, whole_answer_of
from probes.plan import Sample
from probes.wire.argument_schema import ArgumentSchema
from probes.wire.json_value import as_object, as_objects, parse_json, parse_strict_json

# What an endpoint that honours the parameter is granted: one slip in a hundred trials, each by itself.
SLIP = 0.01
# A token of a bias of 100 is the whole answer; so many of it in a row are no text.
_PERIODS = 4
# No vocabulary has tokens of that many words, repeated.
_WORDS_PER_TOKEN = 4


class Sign(StrEnum):
    KEPT = "kept"
    BROKEN = "broken"
    SILENT = "silent"


Rule = Callable[[Sample, Sample | None], Sign]


def judge_rule(parameter: str, aspect: str, arms: Arms, rule: Rule, *, by_chance: float) -> Judgement:
    """`by_chance` bounds the probability that one trial keeps its rule where the parameter is ignored; the trials have
    wordings of their own, so k of them do so with `by_chance`ᵏ. `rule` is given a trial's sample and its control's."""
    held, free = arms.get("held", Arm()), arms.get("free", Arm())
    if refused := judge_refusals(parameter, aspect, held):
        return refused
    signs: Counter[str] = Counter()
    for place in sorted(held.samples):
        for sample in held.at(place):
            signs[_sign(parameter, sample, next(iter(free.at(place)), None), rule)] += 1
    kept, broken = signs[Sign.KEPT], signs[Sign.BROKEN]

    def found(effect: Effect, reason: str, error: float | None = None) -> Judgement:
        return Judgement(parameter, aspect, effect, reason, dict(signs), error)

    if kept and broken:
        return found(Effect.UNCLEAR, "honoured at times")
    if kept and by_chance**kept <= ALPHA_ACTS:
        return found(Effect.ACTS, "answers are as it demands", by_chance**kept)
    if broken and SLIP**broken <= ALPHA_IGNORED:
        return found(Effect.IGNORED, "answers are as without it", SLIP**broken)
    return found(Effect.UNCLEAR, "too few samples" if kept or broken else "no answer shows it")


def judge_invalid(parameter: str, arm: Arm) -> Judgement:
    """Of values that mean nothing. To answer as though all were well is to ignore them."""
    refused = judge_refusals(parameter, "invalid", arm)
    if refused is not None:
        return refused
    answered = sum(fate_of(sample, parameter) is Fate.ANSWERED for sample in arm.all())
    counts = {"answered": answered, "failed": len(arm.all()) - answered}
    if answered and SLIP**answered <= ALPHA_IGNORED:
        reason = "invalid values are answered like any other"
        return Judgement(parameter, "invalid", Effect.IGNORED, reason, counts, SLIP**answered)
    return Judgement(parameter, "invalid", Effect.UNCLEAR, "too few samples", counts)


def _sign(parameter: str, sample: Sample, control: Sample | None, rule: Rule) -> str:
    fate = fate_of(sample, parameter)
    return rule(sample, control).value if fate is Fate.ANSWERED else fate.value


def stop_ends_the_text(sample: Sample, control: Sample | None) -> Sign:
    """A server may leave the stop string at the text's end, but nothing may follow it."""
    stop = str(sample.request["stop"][0])
    answer, free = answer_of(sample), answer_of(control) if control else None
    if answer is None or free is None:
        return Sign.SILENT
    if shown(answer).partition(stop)[2].strip():
        return Sign.BROKEN
    goes_on = bool(shown(free).partition(stop)[2].strip())
    return Sign.KEPT if goes_on and answer.finish_reason == "stop" else Sign.SILENT


def max_tokens_ends_the_text(sample: Sample, _: Sample | None) -> Sign:
    """There is no control: the prompt asks for far more than the limit allows."""
    answer = answer_of(sample)
    limit = int(sample.request.get("max_tokens") or sample.request["max_completion_tokens"])
    if answer is None:
        return Sign.SILENT
    # Of reasoning and its tokens some limits know nothing.
    if len(shown(answer).split()) > _WORDS_PER_TOKEN * limit:
        return Sign.BROKEN
    return Sign.KEPT if answer.finish_reason == "length" else Sign.SILENT


def as_many_choices(sample: Sample, _: Sample | None) -> Sign:
    body = as_object(_body(sample))
    choices = as_objects(body.get("choices"))
    if not choices:
        return Sign.SILENT
    return Sign.KEPT if len(choices) == sample.request["n"] else Sign.BROKEN


def forced_token_is_all(sample: Sample, _: Sample | None) -> Sign:
    """Whatever the id stands for in the endpoint's own vocabulary, it comes again and again."""
    answer = answer_of(sample)
    if answer is None or not said(answer):
        return Sign.SILENT
    return Sign.KEPT if is_repetition(said(answer).strip()) else Sign.BROKEN


def is_repetition(text: str) -> bool:
    """Whether the text is one piece, four times or more; its ends may be cut."""
    longest = len(text) // _PERIODS
    return any(text.startswith(text[period:]) for period in range(1, longest + 1))


def banned_tokens_are_missing(texts: frozenset[str]) -> Rule:
    """`texts` are what the banned tokens say. Answers are of one token, so that none of it can hide in another."""

    def rule(sample: Sample, control: Sample | None) -> Sign:
        answer, free = answer_of(sample), answer_of(control) if control else None
        if answer is None or not said(answer):
            return Sign.SILENT
        if said(answer).strip() in texts:
            return Sign.BROKEN
        return Sign.KEPT if free is not None and said(free).strip() in texts else Sign.SILENT

    return rule


def content_is_json(sample: Sample, _: Sample | None) -> Sign:
    """The prompt asks for the contrary. Some grammars of `json_object` let other values through than objects."""
    answer = whole_answer_of(sample)
    if answer is None or not shown(answer).strip():
        return Sign.SILENT
    return Sign.KEPT if isinstance(_json(shown(answer)), dict | list) else Sign.BROKEN


def content_follows_the_schema(sample: Sample, _: Sample | None) -> Sign:
    answer = whole_answer_of(sample)
    if answer is None or not shown(answer).strip():
        return Sign.SILENT
    schema = ArgumentSchema(sample.request["response_format"]["json_schema"]["schema"])
    value = _json(shown(answer))
    return Sign.KEPT if isinstance(value, dict) and schema.accepts(value) else Sign.BROKEN


def nothing_is_called(sample: Sample, control: Sample | None) -> Sign:
    answer, free = answer_of(sample), answer_of(control) if control else None
    if answer is None:
        return Sign.SILENT
    if answer.tool_calls:
        return Sign.BROKEN
    return Sign.KEPT if free is not None and free.tool_calls else Sign.SILENT


def something_is_called(sample: Sample, control: Sample | None) -> Sign:
    answer, free = whole_answer_of(sample), answer_of(control) if control else None
    if answer is None:
        return Sign.SILENT
    if not answer.tool_calls:
        return Sign.BROKEN
    return Sign.KEPT if free is not None and not free.tool_calls else Sign.SILENT


def the_named_is_called(sample: Sample, control: Sample | None) -> Sign:
    name = sample.request["tool_choice"]["function"]["name"]
    answer, free = whole_answer_of(sample), answer_of(control) if control else None
    if answer is None:
        return Sign.SILENT
    if _called(answer) != {name}:
        return Sign.BROKEN
    return Sign.KEPT if free is not None and name not in _called(free) else Sign.SILENT


def _called(answer: Completion) -> set[str]:
    return {call.name for call in answer.tool_calls}


def _json(text: str) -> Any:
    try:
        return parse_strict_json(text)
    except ValueError:
        return None


def _body(sample: Sample) -> Any:
    try:
        return parse_json(sample.attempts[-1].body.decode("utf-8-sig", "replace"))
    except ValueError:
        return None
