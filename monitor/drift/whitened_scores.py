"""T1: answers against their enrolment by what noise makes of them (`whitened`), as scores that are 0 while nothing
changes: a stream of them needs few answers, since a bet on a small lawful level wins much at once.

An answer scores min(1, max(0, d / q − 1)): d is its squared length rᵀ Σ⁻¹ r, q twice what one baseline answer in a
hundred exceeds. Where a baseline's answers differ by less than two builds of one engine do, or not at all, the noise is
taken to be what makes as much. The null is that of the stream: the mean score stays at its lawful level, which rounds
of the same enrolment give. Days whose noise is larger are why q is doubled: lengths grow with its square, and where a
sixth more or less from day to day is lawful, without it half of all epochs alarm (two in five at 1,000, of 120), and
with it none. A day with more than half as much noise again as the baseline's is no part of that null.

Scores share their answers with those of `fingerprint_scores`: the streams are averaged, never multiplied.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np

from monitor.drift.comparison import Compared, compared
from monitor.drift.evidence import Evidence, Inapplicable, Scores
from monitor.drift.fingerprint import Enrolment
from monitor.drift.fingerprint_scores import INT8, Asked, Read
from monitor.drift.listing import Listing, residuals
from monitor.drift.observation import FloatArray
from monitor.drift.rule import LAWFUL_SHIFT
from monitor.drift.whitened import Whitening

_QUANTILE, _ALLOWED = 0.99, 2.0
_FEWEST_TOKENS = 3
# The variance of a normal shift that is lawful on average.
LEAST_OWN = float(np.pi / 2.0 * LAWFUL_SHIFT**2)
# What a change has to score that should be seen: as much as a level is above what is lawful.
_LEAST_SCORE = 0.02
_VERSION = 1


@dataclass(frozen=True, slots=True)
class WhitenedPrompt:
    """`own` variances of the enrolled tokens and the `common` one, nat²; `reach`: q, from which on answers score."""

    own: tuple[float, ...]
    common: float
    reach: float

    @property
    def noise(self) -> Whitening:
        return Whitening(np.array(self.own), self.common)

    def score_of(self, target: float) -> float:
        """The mean score of an answer whose tokens moved by `target` nats of mean |Δ|, each in a direction of its own:
        of a normal length with the moments of a non-central χ²."""
        from scipy.special import ndtr

        tokens = len(self.own)
        moved = float((np.pi / 2.0 * target**2 / np.array(self.own)).sum())
        deviation = float(np.sqrt(2.0 * tokens + 4.0 * moved))
        z = (tokens + moved - self.reach) / deviation
        density = float(np.exp(-(z**2) / 2.0) / np.sqrt(2.0 * np.pi))
        return min(1.0, deviation / self.reach * (density + z * float(ndtr(z))))


@dataclass(frozen=True, slots=True)
class WhitenedEnrolment:
    """An enrolment, and the noise of each of its prompts in the same order; None where it has too few tokens."""

    enrolment: Enrolment
    prompts: tuple[WhitenedPrompt | None, ...]

    def to_json(self) -> str:
        """Every float as the shortest decimal that gives it back to the last bit."""
        prompts = [None if one is None else asdict(one) for one in self.prompts]
        written = {"version": _VERSION, "enrolment": self.enrolment.to_json(), "prompts": prompts}
        return json.dumps(written, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError for anything `to_json` did not write."""
        try:
            read: dict[str, Any] = json.loads(text)
            if read["version"] != _VERSION:
                raise ValueError(f"version {read['version']}")
            prompts = tuple(None if one is None else _read(**one) for one in read["prompts"])
            return cls(Enrolment.from_json(read["enrolment"]), prompts)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is no enrolment that can be read ({error}): enrol anew from the answers") from error


def _read(own: list[float], common: float, reach: float) -> WhitenedPrompt:
    return WhitenedPrompt(tuple(own), common, reach)


def whiten(enrolment: Enrolment, listings: Iterable[Listing]) -> WhitenedEnrolment:
    """From the answers that were enrolled. Raises ValueError for an answer to a prompt that was not."""
    answers = compared(enrolment, listings)
    found = residuals(answers.found, answers.expected)
    return WhitenedEnrolment(
        enrolment,
        tuple(_prompt(found[answers.of == place, : len(one.tokens)]) for place, one in enumerate(enrolment.prompts)),
    )


def _prompt(found: FloatArray) -> WhitenedPrompt | None:
    if found.shape[1] < _FEWEST_TOKENS:
        return None
    seen = Whitening.of(found)
    noise = Whitening(np.maximum(LEAST_OWN, seen.own), seen.common)
    reach = reach_of(found.shape[1], float(np.quantile(noise.squared(found), _QUANTILE)))
    return WhitenedPrompt(tuple(noise.own.tolist()), noise.common, reach)


def reach_of(tokens: int, quantile: float) -> float:
    """q, from the 99 % quantile of a baseline's squared lengths; a lawful shift's is as many as there are tokens."""
    return _ALLOWED * max(float(tokens), quantile)


def tail(squared: FloatArray, reach: FloatArray | float) -> FloatArray:
    """min(1, max(0, d / q − 1)), of shapes that broadcast."""
    return np.asarray(np.clip(squared / reach - 1.0, 0.0, 1.0))


def whitened_evidence(whitened: WhitenedEnrolment, asked: Asked, *, target: float = INT8) -> Evidence:
    """One score a prompt, the mean of its answers'.

    target: the mean deviation in nats that the smallest change makes which should be seen. `Inapplicable` where no
    answer lists anything that can be compared, or noise hides the target. Raises ValueError for a prompt that was not
    enrolled.
    """
    return of_lengths(whitened, Read.of(whitened.enrolment, asked), target=target)


def of_lengths(whitened: WhitenedEnrolment, read: Read, *, target: float = INT8) -> Evidence:
    answers, asked = read.answers, read.asked
    if (hidden := _hidden(whitened, target)) is not None:
        return Evidence(asked.stream, asked.at, Inapplicable(hidden), len(answers.of), asked.tokens)
    scores = _scores(whitened, answers)
    n = int(np.isfinite(scores).sum())
    if not n:
        why = f"none of {len(asked.listings)} answers brought log-probabilities that can be compared"
        return Evidence(asked.stream, asked.at, Inapplicable(why), 0, asked.tokens)
    return Evidence(asked.stream, asked.at, Scores(tuple(answers.by_prompt(scores).tolist())), n, asked.tokens)


def _scores(whitened: WhitenedEnrolment, answers: Compared) -> FloatArray:
    """Of each answer, NaN where its prompt has too few tokens or it says nothing of them."""
    found = residuals(answers.found, answers.expected)
    scores = np.full(len(answers.of), np.nan)
    for place, one in enumerate(whitened.prompts):
        if one is not None:
            rows = answers.of == place
            own = found[rows, : len(one.own)]
            known = np.isfinite(own).any(axis=1)
            scores[rows] = np.where(known, tail(one.noise.squared(own), one.reach), np.nan)
    return scores


@lru_cache(maxsize=64)
def _expected_scores(prompts: tuple[WhitenedPrompt | None, ...], target: float) -> tuple[float, ...]:
    """The same for every round of an enrolment."""
    return tuple(one.score_of(target) for one in prompts if one is not None)


def _hidden(whitened: WhitenedEnrolment, target: float) -> str | None:
    """Why the target would not be seen; None where it would."""
    scores = _expected_scores(whitened.prompts, target)
    if not scores:
        return f"no prompt has {_FEWEST_TOKENS} tokens in its baseline, so that its noise cannot be told apart"
    mean = sum(scores) / len(scores)
    if mean >= _LEAST_SCORE:
        return None
    return (
        f"noise: the shift that should be seen ({target:.3f} nat) would score {mean:.3f} on average "
        f"({_LEAST_SCORE} needed)"
    )
