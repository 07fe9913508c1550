"""The logprobs probe: what the first token of an answer was chosen from, over private prompts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from probes import grammar
from probes.completion import TokenLogprob
from probes.grammar import GRAMMAR_SHA256, GRAMMAR_VERSION, Prompt
from probes.plan import Item, Outcome, Plan, ProbeKind, Sample
from probes.quirks import Quirk

TOP_LOGPROBS = 20
# Providers stand a masked token at −9999 or the like; a real one this unlikely says no more than "very".
FLOOR = -40.0
ANCHOR_REPS = 2
# Impossible values, and values after sampling parameters, are not the model's.
_UNUSABLE = frozenset({Quirk.LP_POSITIVE, Quirk.LP_PROCESSED})


@dataclass(frozen=True, slots=True)
class FirstToken:
    """The first output position. `tokens` and `logprobs` (nats, at least FLOOR) run in the order received.

    Alternatives that are censored (a sentinel stands for them) or of which the bytes are not known are left out.
    `sampled` is None where its bytes are not known.
    """

    tokens: tuple[bytes, ...]
    logprobs: tuple[float, ...]
    sampled: bytes | None


def plan(seed: bytes, run_nonce: bytes, *, n: int, has_reference: bool) -> Plan:
    """`n` requests of one token each.

    With a reference, half of them are anchors (n // 4, twice each), the rest single-use; without one, nothing could be
    said about a single-use prompt, so all are anchors (n // 2, twice). The second round of anchors comes last: repeats
    far apart in time show how much the endpoint differs from itself.
    """
    if has_reference:
        return _plan(seed, run_nonce, n // (2 * ANCHOR_REPS), n - n // (2 * ANCHOR_REPS) * ANCHOR_REPS)
    return _plan(seed, run_nonce, n // ANCHOR_REPS, 0)


def beside_plan(seed: bytes, run_nonce: bytes, *, n: int) -> Plan:
    """The same for a reference that answers with noise of its own, and may move: three quarters are anchors (3 n // 8,
    twice each), which say whether either side is what it was, whatever the other is."""
    count = 3 * n // (4 * ANCHOR_REPS)
    return _plan(seed, run_nonce, count, n - ANCHOR_REPS * count)


def _plan(seed: bytes, run_nonce: bytes, anchors: int, singles: int) -> Plan:
    fixed = grammar.anchors(seed, anchors)
    fresh = grammar.single_use(seed, run_nonce, singles) if singles else []
    first, *later = (
        [_item(f"anchor-{prompt.sha256[:8]}", prompt, rep) for prompt in fixed] for rep in range(ANCHOR_REPS)
    )
    items = (*first, *map(_single, fresh), *(item for reps in later for item in reps))
    return Plan(ProbeKind.LOGPROBS, items, suite_sha256(fixed), GRAMMAR_VERSION)


def confirming_plan(seed: bytes, run_nonce: bytes, *, n: int) -> Plan:
    """`n` requests over single-use prompts alone: a second opinion that shares no prompt with the first."""
    items = tuple(_single(prompt) for prompt in grammar.single_use(seed, run_nonce, n))
    return Plan(ProbeKind.LOGPROBS, items, suite_sha256([]), GRAMMAR_VERSION)


def suite_sha256(fixed: list[Prompt]) -> str:
    """What two runs must share for their anchors to be compared: the grammar and the anchors themselves."""
    lines = [GRAMMAR_VERSION, GRAMMAR_SHA256, *(prompt.sha256 for prompt in fixed)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def first_token(sample: Sample) -> FirstToken | None:
    """The distribution the first token was chosen from; None where the answer brought none that can be used."""
    completion = sample.completion
    if completion is None or sample.outcome is not Outcome.OK or not completion.logprobs:
        return None
    if not _UNUSABLE.isdisjoint(completion.quirks):
        return None
    return alternatives_of(completion.logprobs[0])


def _single(prompt: Prompt) -> Item:
    return _item(f"single-{prompt.sha256[:12]}", prompt, 0)


def _item(key: str, prompt: Prompt, rep: int) -> Item:
    request: Mapping[str, Any] = {
        "messages": [dict(message) for message in prompt.messages],
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": TOP_LOGPROBS,
        "stream": False,
    }
    return Item(key, rep, request, anchor=key.startswith("anchor-"))


def alternatives_of(position: TokenLogprob) -> FirstToken | None:
    """What one token was chosen from; None where nothing of it can be used."""
    values: dict[bytes, float] = {}
    # Where no list came, the sampled token is the one alternative known.
    for alternative in position.top or (position.sampled,):
        if alternative.token_bytes is not None and alternative.logprob is not None:
            # Two tokens may have the same bytes; the list runs from likely to unlikely, so the first one stands.
            values.setdefault(alternative.token_bytes, max(alternative.logprob, FLOOR))
    if not values:
        return None
    return FirstToken(tuple(values), tuple(values.values()), position.sampled.token_bytes)
