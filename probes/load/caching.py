"""Whether an endpoint gives a stored answer to a request it has seen before: the same body, sent twice.

Equal answers at temperature 0 are no sign of it. A second answer with the first one's id or time of making is, and one
that came faster than any model makes tokens. A cache of prompt prefixes (`cached_tokens`) is another matter: it saves
work, and the answer is made anew.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from probes.grammar import GRAMMAR_SHA256, long_answers
from probes.plan import Item, Outcome, Plan, ProbeKind, Sample
from probes.profile.reply import Reply

VERSION = "1"
# The fastest endpoints known make some 3,000 tokens a second.
_FASTEST_TOKEN_S = 1e-4
_LEAST_TOKENS = 8
# What makes the first answer one that was made: it took so many times as long.
_TIMES_AS_LONG = 5
# `created` is in whole seconds, and may be taken before or after a wait.
_CREATED_APART_S = 3.0
# Fewer pairs without a sign may all have missed the cache.
_LEAST_PAIRS = 3


class Caching(StrEnum):
    CACHED = "cached"
    FRESH = "fresh"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class CachingFinding:
    """`signs` counts the pairs that show each sign; `pairs` is how many were answered twice."""

    caching: Caching
    pairs: int
    signs: Mapping[str, int]


def plan(seed: bytes, run_nonce: bytes, *, pairs: int = 4, max_tokens: int = 48) -> Plan:
    """`pairs` single-use prompts, each sent twice: the second round when the first one is through."""
    prompts = long_answers(seed, run_nonce, pairs)
    items = tuple(
        Item(
            f"replay/{prompt.sha256[:12]}",
            rep,
            {
                "messages": [dict(message) for message in prompt.messages],
                "max_tokens": max_tokens,
                "temperature": 0,
                "stream": False,
            },
        )
        for rep in range(2)
        for prompt in prompts
    )
    suite = hashlib.sha256(f"{VERSION}\n{GRAMMAR_SHA256}\n{max_tokens}".encode()).hexdigest()
    return Plan(ProbeKind.LATENCY, items, suite, VERSION)


def caching(samples: Iterable[Sample]) -> CachingFinding:
    """What the replays among the samples show; others are passed over."""
    by_key: dict[str, list[Sample]] = defaultdict(list)
    for sample in sorted(samples, key=lambda sample: sample.item.rep):
        if sample.item.key.startswith("replay/") and sample.outcome is Outcome.OK and sample.completion is not None:
            by_key[sample.item.key].append(sample)
    pairs = [(twice[0], twice[1]) for twice in by_key.values() if len(twice) == 2]
    telling = _telling_ids(by_key.values())
    signs = Counter(sign for first, again in pairs for sign in _signs(first, again, telling))
    if signs:
        return CachingFinding(Caching.CACHED, len(pairs), dict(signs))
    return CachingFinding(Caching.FRESH if len(pairs) >= _LEAST_PAIRS else Caching.UNCLEAR, len(pairs), {})


def _telling_ids(groups: Iterable[Sequence[Sample]]) -> frozenset[str]:
    """The ids that were given to the answers of one prompt only: some endpoints give all answers the same."""
    seen = Counter(
        answer_id
        for samples in groups
        for answer_id in {sample.completion.id for sample in samples if sample.completion is not None}
        if answer_id
    )
    return frozenset(answer_id for answer_id, prompts in seen.items() if prompts == 1)


def _signs(first: Sample, again: Sample, telling: frozenset[str]) -> list[str]:
    if first.completion is None or again.completion is None:
        return []
    headers = again.attempts[-1].headers
    hits = (headers.get(name, "").lower() for name in ("x-cache", "cf-cache-status"))
    shown = {
        "same id": first.completion.id == again.completion.id and first.completion.id in telling,
        "same time of making": _made_at_once(first, again),
        "faster than any model": _too_fast(first, again),
        "a header says so": any("hit" in hit for hit in hits),
    }
    return [sign for sign, holds in shown.items() if holds]


def _made_at_once(first: Sample, again: Sample) -> bool:
    """Whether two answers that were asked for some time apart say that they were made in one second."""
    apart = (again.attempts[-1].sent_at - first.attempts[-1].sent_at).total_seconds() - first.attempts[-1].seconds
    made = [reply.first.get("created") if (reply := Reply.of(sample)) else None for sample in (first, again)]
    # A fixed value is no time.
    is_time = isinstance(made[0], int) and abs(made[0] - first.attempts[-1].sent_at.timestamp()) < 3600
    return apart >= _CREATED_APART_S and is_time and made[0] == made[1]


def _too_fast(first: Sample, again: Sample) -> bool:
    usage = again.completion.usage if again.completion is not None else None
    tokens = usage.completion_tokens if usage is not None else None
    if not tokens or tokens < _LEAST_TOKENS:
        return False
    took, took_again = first.attempts[-1].seconds, again.attempts[-1].seconds
    return took_again / tokens < _FASTEST_TOKEN_S and took > _TIMES_AS_LONG * took_again
