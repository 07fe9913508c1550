"""How each tier of an endpoint may be asked, and what its requests take: counted on prompts of the probes' kinds, drawn
from a seed of no installation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from monitor.check.border import ENROLLING
from monitor.check.options import CheckOptions
from monitor.check.own import NONCE_BYTES
from monitor.check.plans import Drawn, Extent, make_plans
from monitor.check.sizes import size_of
from monitor.config.asking import LEAST_N, LONGEST_ASKING_S
from monitor.drift.anchors import LEAST_PROMPTS
from monitor.drift.border import ASKS, CANDIDATES, SCREENED, SCREENING_ASKS
from monitor.drift.border_stages import SCREENED_ALONE
from monitor.drift.evidence import Tier
from monitor.drift.fingerprint import LEAST_ANSWERS
from monitor.drift.greedy import LEAST_TOKENS
from monitor.drift.offers import GREEDY_TOKENS, Offer
from monitor.drift.sampling import LEAST_DRAWS
from monitor.usage import Tokens
from probes import border, grammar, greedy, logprobs, sampling
from probes.logprobs import ANCHOR_REPS
from probes.plan import Item, ProbeKind
from reference_engine import TokenizerBackend

# Of a day, evenly: every six hours at least, or days do not count for a baseline (monitor/drift/calibration.py).
SCORED_ROUNDS = (4, 6, 8, 12, 16, 20, 24, 48, 72, 96, 144, 288)
# An enrolment takes answers of four weeks at most (monitor/store/feeding.py), and some rounds are missed.
ENROLLED_WITHIN_DAYS = 21.0
COUNTED_ROUNDS = (1, 2, 4, 6, 8, 12, 16, 20, 24, 48)
# Anchors are asked twice each, and fewer of them are not enrolled.
RESPONSES = tuple(ANCHOR_REPS * prompts for prompts in (LEAST_PROMPTS, 8, 16))
BORDER_INPUTS = (3, 5, 10, 20)
_SEED, _NONCE = bytes(32), bytes(NONCE_BYTES)
# So many prompts are counted for the mean of their kind.
_COUNTED = 60
# Of tool-call requests that are answered with a call: 1,958 of 4,000 in K2VV's published run of an official endpoint.
_CALLS = 0.49


def offers(
    supported: Iterable[Tier],
    tokenizer: TokenizerBackend | None,
    at: datetime,
    *,
    has_reference: bool,
    rpm: int | None = None,
) -> list[Offer]:
    """Of the tiers that a change can be planned with. at: of the week whose tool-call cases are counted. rpm: what a
    check asks has to fit into its time."""
    found = [offer(tier, tokenizer, at, has_reference=has_reference) for tier in supported]
    return [within for one in found if one is not None and (within := _fitting(one, rpm)).requests]


def offer(tier: Tier, tokenizer: TokenizerBackend | None, at: datetime, *, has_reference: bool) -> Offer | None:
    """None for a tier that is not planned with: T0 costs nothing, T5 is asked on suspicion."""
    match tier:
        case Tier.LOGPROBS:
            # Half of a check's requests are anchors, which alone have a past, where the others have a reference.
            items = logprobs.plan(_SEED, _NONCE, n=_COUNTED, has_reference=has_reference).items
            tokens, sent = _mean(items, tokenizer), 2.0 if has_reference else 1.0
            enrols = -(-LEAST_ANSWERS // ANCHOR_REPS)
            rounds = tuple(one for one in SCORED_ROUNDS if enrols / one <= ENROLLED_WITHIN_DAYS)
            return Offer(tier, rounds, RESPONSES, *tokens, ProbeKind.LOGPROBS.value, sent, enrols)
        case Tier.BORDER:
            words = list(border.pool(_SEED).values())[:_COUNTED]
            items = tuple(_item(border.messages_of(one), 1) for one in words)
            finding = SCREENED if has_reference else SCREENED_ALONE
            enrols = -(-(SCREENING_ASKS * finding + ASKS * CANDIDATES) // ENROLLING)
            return Offer(
                tier, SCORED_ROUNDS, BORDER_INPUTS, *_mean(items, tokenizer), ProbeKind.BORDER.value, enrols=enrols
            )
        case Tier.GREEDY:
            prompts = grammar.long_answers(_SEED, _NONCE, _COUNTED)
            items = tuple(_item(prompt.messages, GREEDY_TOKENS) for prompt in prompts)
            enrols = -(-LEAST_TOKENS // (greedy.ANSWERS * greedy.TOKENS))
            asked = (greedy.ANSWERS,)
            return Offer(tier, COUNTED_ROUNDS, asked, *_mean(items, tokenizer), ProbeKind.GREEDY.value, enrols=enrols)
        case Tier.SAMPLING:
            items = sampling.plan(_SEED).items
            draws = sampling.QUESTIONS * sampling.DRAWS
            enrols = -(-LEAST_DRAWS // draws)
            tokens, sent = _mean(items, tokenizer), len(items) / draws
            return Offer(tier, COUNTED_ROUNDS, (draws,), *tokens, ProbeKind.SAMPLING.value, sent, enrols)
        case Tier.CAPABILITY:
            planned = make_plans(
                CheckOptions(probes=(ProbeKind.TOOL_CALLS,)),
                Drawn(_SEED, _NONCE, at),
                has_reference=has_reference,
                extent=Extent(LEAST_N),
            )
            items = tuple(item for plan in planned.plans for item in plan.foreseen)
            calls = int(len(items) * _CALLS)
            return Offer(
                tier,
                COUNTED_ROUNDS,
                (calls,),
                *_mean(items, tokenizer),
                ProbeKind.TOOL_CALLS.value,
                len(items) / calls,
            )
    return None


def _mean(items: Sequence[Item], tokenizer: TokenizerBackend | None) -> tuple[float, float]:
    """Tokens of a prompt and of an answer."""
    total = sum((size_of(item, tokenizer) for item in items), Tokens())
    return total.prompt / len(items), total.completion / len(items)


def _item(messages: Sequence[Mapping[str, Any]], max_tokens: int) -> Item:
    return Item("counted", 0, {"messages": [dict(one) for one in messages], "max_tokens": max_tokens}, anchor=True)


def _fitting(one: Offer, rpm: int | None) -> Offer:
    if rpm is None:
        return one
    most = rpm * LONGEST_ASKING_S / 60.0 + 1.0
    return replace(one, requests=tuple(size for size in one.requests if size * one.sent <= most))
