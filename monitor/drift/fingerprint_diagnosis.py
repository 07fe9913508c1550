"""T1: what answers show beside their score: which way they moved, and how much they differ among themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from monitor.drift.comparison import Compared, Scale, compared, fitted
from monitor.drift.fingerprint import Enrolment
from monitor.drift.levels import DAY
from monitor.drift.listing import Listing, residuals
from monitor.drift.observation import FloatArray

MINUTE, HOUR = 60.0, 3_600.0
# Where the printed log-probabilities of a list add up to 1 or more.
_LEAST_REST = 1e-9


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """What one answer is off its own mean by while nothing changes: mean |Δ| in nats of two answers to one prompt, over
    √2. `minute`: of neighbours within one; `hours`: an hour apart or more, and less than a day; `days`: a day apart or
    more. None where no two answers are."""

    minute: float | None
    hours: float | None
    days: float | None

    @classmethod
    def of(cls, answers: Compared) -> Self:
        return cls(_apart(answers, 0.0, MINUTE), _apart(answers, HOUR, DAY), _apart(answers, DAY, np.inf))


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Means over prompts, in nats. deviation: mean |Δ| from the enrolment; signed: mean Δ; kl: Kullback–Leibler
    divergence of the answers from the enrolment over the tokens both know and one bucket for the rest, a lower bound of
    that over all tokens. distinct: how many different lists came in `answers`; one a prompt where nothing is noisy."""

    deviation: float
    signed: float
    kl: float
    scale: Scale
    distinct: int
    answers: int
    floor: NoiseFloor


def diagnose(enrolment: Enrolment, listings: Iterable[Listing]) -> Diagnosis | None:
    """Of a round, of days, or of the baseline itself; None where no answer can be compared."""
    answers = compared(enrolment, listings)
    if not answers.lists:
        return None
    return Diagnosis(
        deviation=answers.mean(answers.deviations),
        signed=answers.mean(_signed(answers)),
        kl=answers.mean(divergences(answers)),
        scale=fitted(answers),
        distinct=len(set(zip(answers.of.tolist(), answers.lists, strict=True))),
        answers=len(answers.lists),
        floor=NoiseFloor.of(answers),
    )


def divergences(answers: Compared) -> FloatArray:
    """KL(enrolment ‖ answer) in nats, shape [answers]. Tokens that an answer does not list are in the rest bucket on
    both sides: merging outcomes can only lower it (Cover & Thomas 2006, §2.7)."""
    now = answers.found.known
    known = np.isfinite(now)
    before, after = (np.where(known, np.exp(side), 0.0) for side in (answers.expected, now))
    parts = (before * np.where(known, answers.expected - now, 0.0)).sum(axis=1)
    rest_before, rest_after = (np.maximum(_LEAST_REST, 1.0 - side.sum(axis=1)) for side in (before, after))
    return np.asarray(np.maximum(0.0, parts + rest_before * np.log(rest_before / rest_after)))


def _signed(answers: Compared) -> FloatArray:
    """Mean Δ over the tokens that count, shape [answers]."""
    found = residuals(answers.found, answers.expected)
    counted = np.isfinite(found)
    with np.errstate(invalid="ignore"):
        return np.asarray(found.sum(axis=1, where=counted) / counted.sum(axis=1))


def _apart(answers: Compared, least: float, below: float) -> float | None:
    """Each answer against the next one to its prompt that came `least` seconds later or more."""
    differences = [np.empty(0)]
    values = answers.found.known
    for prompt in range(len(answers.prompts)):
        rows = np.flatnonzero(answers.of == prompt)
        rows = rows[np.argsort(answers.at[rows], kind="stable")]
        at = answers.at[rows]
        later = np.maximum(np.arange(at.size) + 1, np.searchsorted(at, at + least))
        first = np.flatnonzero(later < at.size)
        first = first[at[later[first]] - at[first] < below]
        apart = np.abs(values[rows[later[first]]] - values[rows[first]])
        differences.append(apart[np.isfinite(apart)])
    joined = np.concatenate(differences)
    return float(joined.mean() / np.sqrt(2.0)) if joined.size else None
