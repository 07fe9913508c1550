"""A run's anchors as rounds of its endpoint's streams: two scores of the same answers, by the plain values and by
log-odds, whose streams are averaged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from monitor.drift.evidence import Evidence, Inapplicable, Scores, StreamKey, Tier
from monitor.drift.fingerprint import Enrolment
from monitor.drift.fingerprint_scores import Asked, deviation_evidence, log_odds_evidence
from monitor.drift.listing import Listing
from monitor.drift.score_stream import Round

PLAIN, ODDS = "anchors", "anchors-odds"
# Fewer prompts are no fingerprint.
LEAST_PROMPTS = 4
_SCORED = {PLAIN: deviation_evidence, ODDS: log_odds_evidence}


def of_prompts(enrolment: Enrolment, prompts: Iterable[str]) -> Enrolment | None:
    """The same for those that are still asked; None where these are too few."""
    asked = {*prompts}
    kept = tuple(one for one in enrolment.prompts if one.prompt in asked)
    if len(kept) < LEAST_PROMPTS:
        return None
    return replace(enrolment, prompts=kept, left_out=tuple(one for one in enrolment.left_out if one in asked))


def is_whole(enrolment: Enrolment, listings: Sequence[Listing]) -> bool:
    """Whether every prompt was answered: a round of others would have another lawful score."""
    return {one.prompt for one in enrolment.prompts} <= {one.prompt for one in listings}


def anchor_evidence(
    endpoint: str, enrolment: Enrolment, at: float, listings: Sequence[Listing], tokens: int
) -> list[Evidence]:
    """Of one run, which began at `at` in seconds since 1970; nothing where a prompt is missing."""
    if not is_whole(enrolment, listings):
        return []
    known = {one.prompt for one in enrolment.prompts}
    kept = [one for one in listings if one.prompt in known]
    # They share their answers, which are paid for once.
    return [
        scored(enrolment, Asked(StreamKey(endpoint, Tier.LOGPROBS, name), at, kept, tokens if name == PLAIN else 0))
        for name, scored in _SCORED.items()
    ]


def no_values(endpoint: str, at: float, listings: Sequence[Listing], tokens: int) -> list[Evidence]:
    """Of a run in which no answer brought log-probabilities."""
    says = Inapplicable(f"none of {len(listings)} answers brought log-probabilities")
    return [Evidence(StreamKey(endpoint, Tier.LOGPROBS, name), at, says, 0, tokens) for name in _SCORED]


def anchor_rounds(
    endpoint: str, enrolment: Enrolment, runs: Iterable[tuple[float, Sequence[Listing]]]
) -> dict[StreamKey, list[Round]]:
    """The rounds of a baseline, each by when its run began and the answers of it, in order of time."""
    found: dict[StreamKey, list[Round]] = {StreamKey(endpoint, Tier.LOGPROBS, name): [] for name in _SCORED}
    for at, listings in runs:
        for one in anchor_evidence(endpoint, enrolment, at, listings, 0):
            if isinstance(one.says, Scores):
                found[one.stream].append(Round(at, one.says.mean))
    return found
