"""T1: a round of answers against their endpoint's enrolment, as evidence (DETECTION.md §2.3).

The null is that of the stream: the mean score stays at its lawful level. Levels come from rounds that were scored by
the same enrolment. Its own answers may be among them: the mean of 200 lies closer to each of them by half a percent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from monitor.drift.calibration import LEAST_RATIO
from monitor.drift.comparison import Compared, Scale, compared, fitted
from monitor.drift.deviations import capped, noise_ratio
from monitor.drift.evidence import Evidence, Inapplicable, Scores, StreamKey
from monitor.drift.fingerprint import Enrolment
from monitor.drift.listing import Listing
from monitor.drift.observation import FloatArray

# The mean deviation that int8 weights make of the bundled model, in nats (DETECTION.md, Table D).
INT8 = 0.071


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A round's answers, at `at`, in seconds since 1970; they cost `tokens`."""

    stream: StreamKey
    at: float
    listings: Sequence[Listing]
    tokens: int = 0

    def __post_init__(self) -> None:
        if not self.listings:
            raise ValueError("a round without any answer says nothing: give evidence of rounds that were answered")


def deviation_evidence(enrolment: Enrolment, asked: Asked, *, target: float = INT8) -> Evidence:
    """Scores min(1, D_k / c_k), one a prompt, the mean of its answers'.

    target: the mean deviation in nats that the smallest change makes which should be seen. `Inapplicable` where no
    answer lists anything that can be compared, or noise hides the target. Raises ValueError for a prompt that was not
    enrolled.
    """
    return of_deviations(Read.of(enrolment, asked), target=target)


def of_deviations(read: Read, *, target: float = INT8) -> Evidence:
    enrolment = read.enrolment
    caps = np.array([one.cap for one in enrolment.prompts])
    return read.evidence(capped(read.answers.deviations, caps[read.answers.of]), enrolment.noise, target)


def log_odds_evidence(enrolment: Enrolment, asked: Asked, *, target: float = INT8) -> Evidence:
    """The same of log-odds against the baseline's likeliest token, once the scale that fits the round best is taken
    out: blind to the normaliser and to temperature. It shares its answers with `deviation_evidence`, so that the two
    streams are averaged, never multiplied."""
    return of_log_odds(Read.of(enrolment, asked), target=target)


def of_log_odds(read: Read, *, target: float = INT8) -> Evidence:
    enrolment = read.enrolment
    caps = np.array([one.odds_cap or np.nan for one in enrolment.prompts])
    deviations = read.answers.odds_deviations(read.scale.value)
    return read.evidence(capped(deviations, caps[read.answers.of]), enrolment.odds_noise, target)


def _hidden(noise: float | None, target: float) -> str | None:
    """Why the target would not be seen; None where it would."""
    if noise is None:
        return "no prompt has two tokens in its baseline, so that there are no log-odds"
    ratio = noise_ratio(noise, target)
    if ratio >= LEAST_RATIO:
        return None
    return (
        f"noise: an unchanged answer is off by {noise:.3f} nat, one with the shift that should be seen ({target:.3f}) "
        f"{ratio:.2f} times as much ({LEAST_RATIO} needed)"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A round's answers beside their enrolment, once for all scores of them."""

    enrolment: Enrolment
    asked: Asked
    answers: Compared
    scale: Scale

    @classmethod
    def of(cls, enrolment: Enrolment, asked: Asked) -> Self:
        answers = compared(enrolment, asked.listings)
        return cls(enrolment, asked, answers, fitted(answers))

    def evidence(self, scores: FloatArray, noise: float | None, target: float) -> Evidence:
        """scores: of each answer, NaN where it cannot be compared, shape [answers]; noise and target in nats."""
        asked, n = self.asked, int(np.isfinite(scores).sum())
        if (hidden := _hidden(noise, target)) is not None:
            return Evidence(asked.stream, asked.at, Inapplicable(hidden), n, asked.tokens)
        if not n:
            why = f"none of {len(asked.listings)} answers brought log-probabilities that can be compared"
            return Evidence(asked.stream, asked.at, Inapplicable(why), 0, asked.tokens)
        says = Scores(tuple(self.answers.by_prompt(scores).tolist()))
        return Evidence(asked.stream, asked.at, says, n, asked.tokens, tuple(self._reasons(len(says.scores))))

    def _reasons(self, scored: int) -> Iterator[str]:
        prompts = len(self.enrolment.prompts)
        if scored < prompts:
            yield f"{prompts - scored} of {prompts} prompts brought no log-probabilities that can be compared"
        had = [one.listed for one in self.enrolment.prompts]
        sizes = [(usable.listed, had[place]) for usable, place in zip(self.answers.lists, self.answers.of, strict=True)]
        if short := [(now, before) for now, before in sizes if now < before]:
            now, before = min(short)
            yield f"lists have {now} alternatives, and had {before}: only the {now} likeliest tokens are compared"
        noise = self.enrolment.odds_noise
        if noise is not None and self.scale.explains(noise):
            yield str(self.scale)
