"""The logprobs probe: what the first token of an answer was chosen from, over private prompts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from probes import grammar
from probes.completion import TokenAlternative, TokenLogprob
from probes.grammar import GRAMMAR_SHA256, GRAMMAR_VERSION, Prompt
from probes.plan import Item, Outcome, Plan, ProbeKind, Sample
from probes.quirks import Quirk

TOP_LOGPROBS = 20
# Providers stand a masked token at −9999 or the like; a real one this unlikely says no more than "very".
FLOOR = -40.0
ANCHOR_REPS = 2


class Missing(StrEnum):
    """Why an answer has no first-token distribution that can be used."""

    NO_ANSWER = "the request brought no answer"
    NO_LOGPROBS = "the answer holds no log-probabilities"
    POSITIVE = "a log-probability is above zero"
    PROCESSED = "the values are those after sampling parameters, not the model's"
    NO_BYTES = "no alternative can be told apart from others by its bytes"


_UNUSABLE = {Quirk.LP_POSITIVE: Missing.POSITIVE, Quirk.LP_PROCESSED: Missing.PROCESSED}


@dataclass(frozen=True, slots=True)
class FirstToken:
    """The first output position. `tokens` and `logprobs` (nats, at least FLOOR) run in the order received.

    `got` counts the alternatives received of the `asked` ones; those that are censored (a sentinel stands for them)
    or of which the bytes are not known are counted but left out. `sampled` is None where its bytes are not known.
    """

    tokens: tuple[bytes, ...]
    logprobs: tuple[float, ...]
    sampled: bytes | None
    sampled_logprob: float | None
    asked: int
    got: int
    censored: int
    without_bytes: int


def plan(seed: bytes, run_nonce: bytes, *, n: int, has_reference: bool) -> Plan:
    """`n` requests of one token each.

    With a reference, half of them are anchors (n // 4, twice each), the rest single-use; without one, nothing could be
    said about a single-use prompt, so all are anchors (n // 2, twice). The second round of anchors comes last: repeats
    far apart in time show how much the endpoint differs from itself.
    """
    count = n // (2 * ANCHOR_REPS) if has_reference else n // ANCHOR_REPS
    fixed = grammar.anchors(seed, count)
    fresh = grammar.single_use(seed, run_nonce, n - ANCHOR_REPS * count) if has_reference else []
    first, *later = (
        [_item(f"anchor-{prompt.sha256[:8]}", prompt, rep) for prompt in fixed] for rep in range(ANCHOR_REPS)
    )
    single = [_item(f"single-{prompt.sha256[:12]}", prompt, 0) for prompt in fresh]
    items = (*first, *single, *(item for reps in later for item in reps))
    return Plan(ProbeKind.LOGPROBS, items, suite_sha256(fixed), GRAMMAR_VERSION)


def suite_sha256(fixed: list[Prompt]) -> str:
    """What two runs must share for their anchors to be compared: the grammar and the anchors themselves."""
    lines = [GRAMMAR_VERSION, GRAMMAR_SHA256, *(prompt.sha256 for prompt in fixed)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def first_token(sample: Sample) -> FirstToken | None:
    """The distribution the first token was chosen from, None where there is none; `why_missing` then says why."""
    found = _read(sample)
    return found if isinstance(found, FirstToken) else None


def why_missing(sample: Sample) -> Missing | None:
    found = _read(sample)
    return found if isinstance(found, Missing) else None


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


def _read(sample: Sample) -> FirstToken | Missing:
    completion = sample.completion
    if completion is None or sample.outcome is not Outcome.OK:
        return Missing.NO_ANSWER
    for quirk in completion.quirks:
        if quirk in _UNUSABLE:
            return _UNUSABLE[quirk]
    if not completion.logprobs:
        return Missing.NO_LOGPROBS
    return _first(completion.logprobs[0], _asked(sample))


def _asked(sample: Sample) -> int:
    asked = sample.item.request.get("top_logprobs")
    return asked if isinstance(asked, int) else 0


def _first(position: TokenLogprob, asked: int) -> FirstToken | Missing:
    # Where no list came, the sampled token is the one alternative known.
    listed = position.top or (position.sampled,)
    known = [alternative for alternative in listed if alternative.token_bytes is not None]
    values: dict[bytes, float] = {}
    for alternative in known:
        if alternative.token_bytes is not None and alternative.logprob is not None:
            # Two tokens may have the same bytes; the list runs from likely to unlikely, so the first one stands.
            values.setdefault(alternative.token_bytes, max(alternative.logprob, FLOOR))
    if not values:
        return Missing.NO_BYTES
    return FirstToken(
        tokens=tuple(values),
        logprobs=tuple(values.values()),
        sampled=position.sampled.token_bytes,
        sampled_logprob=_floored(position.sampled),
        asked=asked,
        got=len(position.top or ()),
        censored=sum(alternative.logprob is None for alternative in listed),
        without_bytes=len(listed) - len(known),
    )


def _floored(alternative: TokenAlternative) -> float | None:
    return None if alternative.logprob is None else max(alternative.logprob, FLOOR)
