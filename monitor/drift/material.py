"""What one run is judged by: its observations, its baseline's, and the reference that both are held against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.drift.observation import Observation

# The smallest change that a run must be able to see before it may say "ok": int8 weights.
TARGET_PROFILE = "w8-channel"


@dataclass(frozen=True, slots=True)
class Reference:
    """What the answers are held against: the allowed profiles, the candidates (profiles and template variants) whose
    expectations every observation holds, and by how many prompt tokens a candidate's rendering differs from ours.
    `endpoint`: the name of another endpoint whose answers stand for an expectation, None where one was computed;
    `held`: in words, that it moved since the baseline, so that no difference to it is evidence of the endpoint."""

    allowed: tuple[str, ...]
    candidates: tuple[str, ...]
    token_steps: Mapping[str, int]
    endpoint: str | None = None
    held: str | None = None

    @property
    def base(self) -> str:
        return self.allowed[0]


@dataclass(frozen=True, slots=True)
class Material:
    """One run's observations and its baseline's (empty when there is none), and what they are held against.

    `same_reference` holds the baseline's observations made under the present reference: only these can be compared by
    their distance to it. `judged` names the checks whose p-values count; the others' data still help to name causes.
    """

    new: Sequence[Observation]
    baseline: Sequence[Observation]
    same_reference: Sequence[Observation]
    reference: Reference | None
    judged: frozenset[str] = frozenset({"logprobs", "accounting"})

    @property
    def enrolled(self) -> bool:
        return bool(self.baseline)


def measured_candidates(allowed: Sequence[str]) -> tuple[str, ...]:
    """What a judgement needs of the reference: the allowed profiles, the first of them as the base, what int8 makes of
    it, and the two whose distance says how far honest bf16 stacks are apart. Causes are ranked among more."""
    return tuple(dict.fromkeys((*allowed, "fp32", "bf16", TARGET_PROFILE)))


def without_cached(observations: Sequence[Observation]) -> list[Observation]:
    """Leave out repeats that a response cache answered: the same id came for one prompt's repeats, though ids differ
    between prompts. A replayed answer shows neither the endpoint's noise nor its present state."""
    ids = Counter((o.item_key, o.response_id) for o in observations if o.response_id)
    prompts_of_id = Counter(response_id for _, response_id in ids)
    seen: set[tuple[str, str]] = set()
    kept = []
    for o in observations:
        if o.anchor and o.response_id and ids[o.item_key, o.response_id] > 1 and prompts_of_id[o.response_id] == 1:
            if (o.item_key, o.response_id) in seen:
                continue
            seen.add((o.item_key, o.response_id))
        kept.append(o)
    return kept
