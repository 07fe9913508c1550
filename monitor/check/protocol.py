"""The protocol probe of a check: what it asks, and what the answers show of parameters, of the stack and of counts."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from monitor.check.profiles import clean
from monitor.config import Prices
from monitor.drift.feature_shift import variant_shares
from monitor.drift.findings import Finding
from monitor.drift.interval import Interval
from monitor.drift.protocol import EffectSeen, ProtocolAssessment, ProtocolFacts
from monitor.drift.rule import Verdict
from monitor.store import MetricPoint
from monitor.usage import claimed_count
from monitor.verdict import (
    BillValue,
    FeatureMoveValue,
    ParameterValue,
    ProtocolStatement,
    StackHint,
    VariantShare,
)
from probes import grammar
from probes.capabilities import Capabilities
from probes.load.caching import CachingFinding, caching
from probes.load.caching import plan as replay_plan
from probes.parameters import probe as parameters
from probes.parameters import wording
from probes.parameters.judgement import Effect, Judgement
from probes.parameters.rules import SLIP
from probes.parameters.trial import Fate
from probes.plan import Item, Outcome, Plan, ProbeKind, Sample
from probes.profile import availability
from probes.profile.availability import Availability
from probes.profile.extract import profiles_of
from probes.profile.features import Feature, Profile
from probes.profile.stack import Hint, hints
from probes.profile.variants import feature_counts, variant_counts
from probes.token_counts import ladder
from probes.token_counts.bill import Charge, Price, bill
from probes.token_counts.explain import EXACT, LEAST_COUNTS, Explanation, explanations, untold_tools
from probes.token_counts.recount import recount
from probes.token_counts.renderings import PromptCount, prompt_counts

if TYPE_CHECKING:
    from reference_engine import TokenizerBackend

VERSION = "1"
# One experiment for each parameter but those that take a dozen requests more to show what temperature shows.
LIGHT = (
    "temperature",
    "stop",
    "max_tokens",
    "n",
    "logit_bias.forced",
    "response_format.json_schema",
    "tool_choice.required",
)
_STREAMS, _STREAM_TOKENS = 8, 16
_CALLS, _CALL_TOKENS = 6, 128
# One request alone may be answered otherwise for any reason.
_ACCESS_ROUNDS = 3
_STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
_LADDER, _REPLAY, _HABIT, _CALL = "accounting-", "replay/", "habit/", "habit-call/"
# Fewer answers with too many tokens may be the tokenizer's own doing.
_LEAST_EXCESSES = 2


@dataclass(frozen=True, slots=True)
class ProtocolAnswers:
    """What one run showed, before anything is compared with its past. `tokens` is against the reference's tokenizer."""

    facts: ProtocolFacts
    judgements: tuple[Judgement, ...]
    hints: tuple[Hint, ...]
    caching: CachingFinding
    tokens: Finding
    charges: tuple[Charge, ...]


def protocol_plan(
    seed: bytes,
    nonce: bytes,
    *,
    whole: bool,
    part: float = 1.0,
    tokenizer: TokenizerBackend | None = None,
    capabilities: Capabilities | None = None,
) -> Plan:
    """Everything that the protocol is judged by, told apart by the items' keys. `part` of the experiments are made,
    each of them whole. The replays stand at both ends, so that time passes between them."""
    names = parameters.NAMES if whole else LIGHT
    only = names[: ceil(len(names) * part)]
    replays = replay_plan(seed, nonce + b"replay")
    access = [availability.plan(seed, nonce + bytes([round_])) for round_ in range(_ACCESS_ROUNDS)]
    trials = parameters.plan(seed, nonce, only=only, capabilities=capabilities, tokenizer=tokenizer)
    counted = ladder.plan(seed)
    items = (
        *(item for item in replays.items if item.rep == 0),
        *counted.items,
        *(item for one in access for item in one.items),
        *_streams(seed, nonce),
        *trials.items,
        *(item for item in replays.items if item.rep),
    )
    parts = [VERSION, *(one.suite_sha256 for one in (replays, counted, access[0], trials))]
    return Plan(ProbeKind.PROTOCOL, items, hashlib.sha256("\n".join(parts).encode()).hexdigest(), VERSION)


def _streams(seed: bytes, nonce: bytes) -> Iterator[Item]:
    """What no other item shows: how the stack frames a stream, and a call in it."""
    for prompt in grammar.long_answers(seed, nonce + b"habit", _STREAMS):
        body = {"messages": [dict(one) for one in prompt.messages], "max_tokens": _STREAM_TOKENS, "temperature": 0}
        yield Item(f"{_HABIT}{prompt.sha256[:12]}", 0, {**body, **_STREAMED})
    tag = hashlib.sha256(nonce).hexdigest()[:8]
    for place in range(_CALLS):
        draw = grammar.Draw(seed, "habit", nonce, place)
        asked = {"messages": wording.stock_question(draw), "tools": [wording.stock_tool(draw)]}
        limits = {"max_tokens": _CALL_TOKENS, "temperature": 0}
        yield Item(f"{_CALL}{place}-{tag}", 0, {**asked, **limits, **_STREAMED})


def protocol_answers(samples: Sequence[Sample], tokenizer: TokenizerBackend | None) -> ProtocolAnswers:
    judgements = (*parameters.judge(samples, tokenizer), *_access(samples))
    profiles = list(_profiles(samples))
    counted = [sample for sample in samples if _is_counted(sample)]
    counts = [] if tokenizer is None else prompt_counts(counted, tokenizer)
    charges = tuple(_charges(counted, counts, tokenizer))
    return ProtocolAnswers(
        facts=ProtocolFacts(
            effects={_name(one): EffectSeen(one.effect, _error(one)) for one in judgements},
            features={
                kind: {feature.value: dict(values) for feature, values in features.items()}
                for kind, features in feature_counts(profiles).items()
            },
            variants=dict(variant_counts(profiles)),
            prompt_tokens=dict(_ladder(samples)),
        ),
        judgements=judgements,
        hints=hints(profiles),
        caching=caching(samples),
        tokens=_token_fidelity(counts, charges, tokenizer),
        charges=charges,
    )


def findings_of(answers: ProtocolAnswers, found: ProtocolAssessment) -> dict[str, Finding]:
    """By the name of the check: `protocol.…` against the endpoint's own runs, `fidelity.tokens` against the reference,
    which is a standing finding and never drift."""
    return {
        "protocol.parameters": found.parameters,
        "protocol.stack": found.stack,
        "protocol.tokens": found.tokens,
        "fidelity.tokens": answers.tokens,
    }


def stack_changes(found: ProtocolAssessment) -> list[str]:
    """In words; the fingerprint that a stack gives itself is told already, of whichever probe saw it."""
    moves = (move for move in found.moves if move.feature is not Feature.SYSTEM_FINGERPRINT)
    return [move.words for move in moves if move.is_event]


def protocol_points(answers: ProtocolAnswers, found: ProtocolAssessment) -> list[MetricPoint]:
    effects = [seen.effect for seen in answers.facts.effects.values()]
    clear = [effect for effect in effects if effect is not Effect.UNCLEAR]
    counted = {
        "parameters_acting": (clear.count(Effect.ACTS), len(clear)),
        "parameters_ignored": (clear.count(Effect.IGNORED), len(clear)),
        "variants": (len(answers.facts.variants), sum(answers.facts.variants.values())),
    }
    points = [MetricPoint(f"protocol.{name}", float(value), n) for name, (value, n) in counted.items() if n]
    measured = {"stack_changes": found.stack, "prompt_offset": answers.tokens}
    return points + [
        MetricPoint(f"protocol.{name}", finding.value, finding.n)
        for name, finding in measured.items()
        if finding.value is not None
    ]


def parameter_values(answers: ProtocolAnswers, before: Mapping[str, Effect]) -> tuple[ParameterValue, ...]:
    return tuple(
        ParameterValue(
            name=(name := _name(one)),
            effect=one.effect,
            before=before.get(name),
            reason=one.reason,
            counts=dict(one.counts),
            error=one.error,
        )
        for one in answers.judgements
    )


def protocol_statement(answers: ProtocolAnswers, found: ProtocolAssessment, prices: Prices | None) -> ProtocolStatement:
    shares = variant_shares(answers.facts.variants)
    return ProtocolStatement(
        variants=tuple(
            VariantShare(
                variant=variant,
                share=rate.value or 0.0,
                interval=(rate.low, rate.high) if rate.low is not None and rate.high is not None else None,
                n=int(rate.numerator),
            )
            for variant, rate in shares.items()
        ),
        hints=tuple(StackHint(stack=hint.stack, reasons=hint.reasons) for hint in answers.hints),
        moved=tuple(
            FeatureMoveValue(feature=move.feature.value, before=move.before, now=move.now, p=move.adjusted_p)
            for move in found.moves
        ),
        caching=answers.caching.caching.value,
        replays=answers.caching.pairs,
        bill=_bill(answers.charges, prices),
    )


def _bill(charges: Sequence[Charge], prices: Prices | None) -> BillValue | None:
    if prices is None or not charges:
        return None
    made = bill(charges, Price.of(prices.input_usd_per_mtok, prices.output_usd_per_mtok))
    return BillValue(
        requests=made.requests,
        microusd=made.microusd,
        overcharged_microusd=made.overcharged_microusd,
        prompts_known=made.prompts_known,
        completions_known=made.completions_known,
    )


def _name(one: Judgement) -> str:
    return f"{one.parameter}.{one.aspect}" if one.aspect else one.parameter


def _error(one: Judgement) -> float:
    """A refusal is the endpoint's own word; one that takes the parameter is granted a slip for each of them."""
    if one.effect is Effect.REFUSED:
        return SLIP ** one.counts.get(Fate.REFUSED.value, 1)
    return 1.0 if one.error is None else one.error


_EFFECTS = {
    Availability.AVAILABLE: Effect.ACTS,
    Availability.ABSENT: Effect.IGNORED,
    Availability.REFUSED: Effect.REFUSED,
    Availability.UNCLEAR: Effect.UNCLEAR,
}


# What a way to ask is for, where that is another thing than the shape of what comes.
_ASPECTS = {"echo": "prompt"}


def _access(samples: Sequence[Sample]) -> Iterator[Judgement]:
    """Each way to ask for log-probabilities, as the parameter that it is."""
    seen: dict[str, list[availability.LogprobAccess]] = defaultdict(list)
    for one in availability.access(samples):
        seen[one.way].append(one)
    for way, found in seen.items():
        counts = Counter(one.availability.value for one in found)
        effects = {_EFFECTS[one.availability] for one in found}
        effect = effects.pop() if len(effects) == 1 else Effect.UNCLEAR
        # Who echoes nothing gives the answer's values all the same.
        unheard = effect is Effect.ACTS and all(one.of_prompt is False for one in found)
        effect = Effect.IGNORED if unheard else effect
        error = SLIP ** len(found) if effect in (Effect.ACTS, Effect.IGNORED) else None
        reason = "of the answer alone, not of its prompt" if unheard else ", ".join(sorted(counts))
        if effect is Effect.ACTS:
            # A list that goes by text is short wherever two tokens read alike.
            alternatives = "all alternatives" if any(one.top_k == "all" for one in found) else found[0].top_k
            reason = ", ".join(filter(None, (f"in the shape of {found[0].shape}", alternatives)))
        yield Judgement("logprobs", _ASPECTS.get(way, way), effect, reason, counts, error)


def _profiles(samples: Sequence[Sample]) -> Iterator[Profile]:
    """Refusals are told apart by what they refuse: each has a form."""
    judged = [one for one in samples if one.outcome in (Outcome.OK, Outcome.REFUSED)]
    for sample, profile in profiles_of(judged):
        kind = f"{profile.kind}, {_part(sample.item.key)}" if sample.outcome is Outcome.REFUSED else profile.kind
        yield replace(clean(profile, sample.request), kind=kind)


def _part(key: str) -> str:
    """The experiment, or the way to ask for log-probabilities."""
    prefix, _, rest = key.partition("/")
    return rest.partition("/")[0] if prefix == "parameter" else rest.rpartition("-")[0]


def _is_counted(sample: Sample) -> bool:
    return sample.item.key.startswith((_LADDER, _REPLAY, _HABIT)) and _prompt_tokens(sample) is not None


def _prompt_tokens(sample: Sample) -> int | None:
    usage = sample.completion.usage if sample.completion is not None else None
    return None if usage is None else claimed_count(usage.prompt_tokens)


def _ladder(samples: Sequence[Sample]) -> Iterator[tuple[str, int]]:
    for sample in samples:
        tokens = _prompt_tokens(sample)
        if sample.item.key.startswith(_LADDER) and tokens is not None:
            yield sample.item.key, tokens


def _charges(
    samples: Sequence[Sample], counts: Sequence[PromptCount], tokenizer: TokenizerBackend | None
) -> Iterator[Charge]:
    due = {(one.item_key, one.rep): one.expected for one in counts}
    for sample in samples:
        completion, prompt = sample.completion, _prompt_tokens(sample)
        usage = completion.usage if completion is not None else None
        completed = claimed_count(usage.completion_tokens) if usage is not None else None
        if completion is None or prompt is None or completed is None:
            continue
        most = None if tokenizer is None else recount(completion, sample.request, tokenizer).high
        prompt_due = due.get((sample.item.key, sample.item.rep))
        yield Charge(prompt, completed, prompt_due, most)


def _token_fidelity(
    counts: Sequence[PromptCount], charges: Sequence[Charge], tokenizer: TokenizerBackend | None
) -> Finding:
    if tokenizer is None:
        return Finding(Verdict.INAPPLICABLE, "no reference tokenizer to count with", unit="token")
    offsets = [one.reported - one.expected for one in counts if one.expected is not None]
    if not counts:
        return Finding(Verdict.INAPPLICABLE, "the endpoint counts no prompt tokens", unit="token")
    if len(offsets) < LEAST_COUNTS:
        why = f"the reference's template counts {len(offsets)} of the prompts, and {LEAST_COUNTS} are needed"
        return Finding(Verdict.INCONCLUSIVE, why, unit="token", n=len(offsets))
    named = explanations(counts)
    words = [] if named == (EXACT,) else [_explained(named, offsets)]
    if untold := untold_tools(counts):
        words.append(f"{untold} prompts with tools are counted as if they had none: the model is not told of them")
    excesses = [extra for one in charges if (extra := _excess(one)) > 0]
    if len(excesses) >= _LEAST_EXCESSES:
        words.append(f"{len(excesses)} answers report {sum(excesses)} tokens more than came")
    return Finding(
        Verdict.SUSPECT if words else Verdict.OK,
        "; ".join(words),
        value=float(Counter(offsets).most_common(1)[0][0]),
        unit="token",
        interval=Interval(float(min(offsets)), float(max(offsets))),
        n=len(offsets),
    )


def _excess(one: Charge) -> int:
    return 0 if one.completion_due is None else one.completion_tokens - one.completion_due


def _explained(named: Sequence[Explanation], offsets: Sequence[int]) -> str:
    if named:
        return " or ".join(f"{one.name} ({one.extra:+d} tokens)" if one.extra else one.name for one in named)
    differing = sum(offset != 0 for offset in offsets)
    low, high = min(offsets), max(offsets)
    return (
        f"{differing} of {len(offsets)} prompts are counted otherwise, by {low:+d} to {high:+d}: nothing explains all"
    )
