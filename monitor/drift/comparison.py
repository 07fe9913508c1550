"""T1: answers beside what was enrolled of their prompts, token by token, and the one scale that may explain a move."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from monitor.drift.deviations import fitted_scale, mean_deviations
from monitor.drift.fingerprint import EnrolledPrompt, Enrolment
from monitor.drift.listing import Bounds, Listing, Usable, bounds, log_odds, residuals
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray
from monitor.drift.rule import LAWFUL_SHIFT

# A scale is named as the cause where it leaves less than this share of a move of more than so many times the noise.
_UNEXPLAINED, _MOVED = 0.5, 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Answers that list anything usable, a row each. `prompts` are the enrolment's, `of` whose answer a row is, shape
    [answers]; found and expected are of that prompt's tokens, shapes [answers, tokens]."""

    prompts: tuple[EnrolledPrompt, ...]
    of: IntArray
    at: FloatArray
    lists: tuple[Usable, ...]
    found: Bounds
    expected: FloatArray

    @property
    def deviations(self) -> FloatArray:
        """D_k in nats, shape [answers]; NaN where nothing can be compared."""
        return mean_deviations(residuals(self.found, self.expected))

    def odds_deviations(self, scale: float) -> FloatArray:
        """The same of log-odds, `scale` times as large as at enrolment."""
        return mean_deviations(residuals(log_odds(self.found), scale * self.expected_odds))

    @property
    def expected_odds(self) -> FloatArray:
        return self.expected[:, 1:] - self.expected[:, :1]

    def by_prompt(self, values: FloatArray) -> FloatArray:
        """Means of finite values, [answers] → [prompts that have any]."""
        known = np.isfinite(values)
        count = np.bincount(self.of[known], minlength=len(self.prompts))
        total = np.bincount(self.of[known], weights=values[known], minlength=len(self.prompts))
        return np.asarray(total[count > 0] / count[count > 0])

    def mean(self, values: FloatArray) -> float:
        """Mean over prompts; NaN without any."""
        means = self.by_prompt(values)
        return float(means.mean()) if means.size else np.nan


@dataclass(frozen=True, slots=True)
class Scale:
    """1/T that fits log-odds best, and the mean deviations of log-odds in nats, without it and once it is taken out."""

    value: float
    before: float
    after: float

    def explains(self, noise: float) -> bool:
        """Whether answers moved beyond their noise (nats), and mostly by this."""
        return self.before > max(LAWFUL_SHIFT, _MOVED * noise) and self.after <= _UNEXPLAINED * self.before

    def __str__(self) -> str:
        return (
            f"1/T = {self.value:.3f} explains {1.0 - self.after / self.before:.0%} of the move: log-probabilities at "
            "another temperature, or after sampling parameters, rather than other weights"
        )


def compared(enrolment: Enrolment, listings: Iterable[Listing]) -> Compared:
    """Raises ValueError for an answer to a prompt that was not enrolled."""
    places = {one.prompt: place for place, one in enumerate(enrolment.prompts)}
    kept = []
    for listing in listings:
        if listing.prompt in enrolment.left_out:
            continue
        if listing.prompt not in places:
            raise ValueError(f"{listing.prompt} was not enrolled: its stream needs an enrolment of its own")
        if (usable := listing.usable).values:
            kept.append((places[listing.prompt], listing.at, usable))
    lists = tuple(usable for _, _, usable in kept)
    of = np.array([place for place, _, _ in kept], dtype=np.int64)
    means = _means(enrolment)
    found = bounds(lists, [enrolment.prompts[place].fixed for place in of], means.shape[1])
    return Compared(enrolment.prompts, of, np.array([at for _, at, _ in kept]), lists, found, means[of])


def _means(enrolment: Enrolment) -> FloatArray:
    """Shape [prompts, tokens], NaN beyond those that a prompt has."""
    width = max(len(one.means) for one in enrolment.prompts)
    return np.array([[*one.means, *[np.nan] * (width - len(one.means))] for one in enrolment.prompts])


def fitted(answers: Compared) -> Scale:
    """The one scale of all prompts' answers; 1 where none has log-odds."""
    scale = fitted_scale(log_odds(answers.found).known, answers.expected_odds)
    before, after = (answers.mean(answers.odds_deviations(by)) for by in (1.0, scale))
    return Scale(scale, before, after)
