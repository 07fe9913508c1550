"""A run's anchors as rounds of its endpoint's streams: three scores of the same answers, by the plain values, by
log-odds and by whitened lengths, whose streams are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from monitor.drift.evidence import Evidence, Inapplicable, Scores, StreamKey, Tier
from monitor.drift.fingerprint_scores import Asked, Read, of_deviations, of_log_odds
from monitor.drift.listing import Listing
from monitor.drift.score_stream import Round
from monitor.drift.whitened_scores import WhitenedEnrolment, of_lengths

PLAIN, ODDS, WHITENED = "anchors", "anchors-odds", "anchors-whitened"
# Fewer prompts are no fingerprint.
LEAST_PROMPTS = 4
SCORED: Mapping[str, Callable[[WhitenedEnrolment, Read], Evidence]] = {
    PLAIN: lambda _, read: of_deviations(read),
    ODDS: lambda _, read: of_log_odds(read),
    WHITENED: of_lengths,
}


def of_prompts(enrolled: WhitenedEnrolment, prompts: Iterable[str]) -> WhitenedEnrolment | None:
    """The same for those that are still asked; None where these are too few."""
    asked, all_ = {*prompts}, enrolled.enrolment
    kept = [one for one in zip(all_.prompts, enrolled.prompts, strict=True) if one[0].prompt in asked]
    if len(kept) < LEAST_PROMPTS:
        return None
    left_out = tuple(one for one in all_.left_out if one in asked)
    enrolment = replace(all_, prompts=tuple(prompt for prompt, _ in kept), left_out=left_out)
    return WhitenedEnrolment(enrolment, tuple(noise for _, noise in kept))


def is_whole(enrolled: WhitenedEnrolment, listings: Sequence[Listing]) -> bool:
    """Whether every prompt was answered: a round of others would have another lawful score."""
    return {one.prompt for one in enrolled.enrolment.prompts} <= {one.prompt for one in listings}


def anchor_evidence(
    endpoint: str, enrolled: WhitenedEnrolment, at: float, listings: Sequence[Listing], tokens: int
) -> list[Evidence]:
    """Of one run, which began at `at` in seconds since 1970; nothing where a prompt is missing."""
    if not is_whole(enrolled, listings):
        return []
    known = {one.prompt for one in enrolled.enrolment.prompts}
    kept = [one for one in listings if one.prompt in known]
    key = StreamKey(endpoint, Tier.LOGPROBS, PLAIN)
    read = Read.of(enrolled.enrolment, Asked(key, at, kept, tokens))
    # They share their answers, which are paid for once.
    return [
        replace(scored(enrolled, read), stream=key._replace(probe_set=name), tokens=tokens if name == PLAIN else 0)
        for name, scored in SCORED.items()
    ]


def no_values(endpoint: str, at: float, listings: Sequence[Listing], tokens: int) -> list[Evidence]:
    """Of a run in which no answer brought log-probabilities."""
    says = Inapplicable(f"none of {len(listings)} answers brought log-probabilities")
    return [Evidence(StreamKey(endpoint, Tier.LOGPROBS, name), at, says, 0, tokens) for name in SCORED]


def anchor_rounds(
    endpoint: str, enrolled: WhitenedEnrolment, runs: Iterable[tuple[float, Sequence[Listing]]]
) -> dict[StreamKey, list[Round]]:
    """The rounds of a baseline, each by when its run began and the answers of it, in order of time."""
    found: dict[StreamKey, list[Round]] = {StreamKey(endpoint, Tier.LOGPROBS, name): [] for name in SCORED}
    for at, listings in runs:
        for one in anchor_evidence(endpoint, enrolled, at, listings, 0):
            if isinstance(one.says, Scores):
                found[one.stream].append(Round(at, one.says.mean))
    return found
