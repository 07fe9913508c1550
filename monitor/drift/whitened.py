"""T1: several answers to one prompt as one number: how far their mean is from the enrolment's, in units of what lawful
noise makes of such a mean.

Half or so of an answer's noise is common to all its tokens, and the rest is each token's own (`response_noise`). A mean
of |Δ| over tokens counts the common part as often as there are tokens. Here a residual r̄ is measured by the inverse of
its noise's covariance, Σ = diag(vⱼ) + c 1 1ᵀ: n r̄ᵀ Σ⁻¹ r̄, the likelihood ratio of the best shift over none where noise
is normal (generalised least squares, Aitken 1935; Hotelling's T² with a known covariance). Under that null it is about
χ² with as many degrees as tokens. It ranks, and gives a p by relabelling (`relabelled_p`); levels of streams know
nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray

# Of a token's own variance, nat²: printed digits alone make as much (`response_noise.LEAST`).
LEAST = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """Noise of one answer: `own` is the variance of each token's own part, [tokens], `common` that of the part which
    its tokens share; nat²."""

    own: FloatArray
    common: float

    def __post_init__(self) -> None:
        if not (self.own > 0.0).all() or not 0.0 <= self.common < np.inf:
            raise ValueError(f"variances of tokens are above 0, and that of their common part from 0: {self}")

    @classmethod
    def of(cls, residuals: FloatArray) -> Self:
        """From a baseline's answers around their mean, [answers, tokens] in nats, NaN where a token is not known. The
        parts are taken apart by analysis of variance, answers being the groups (Searle, Casella & McCulloch 1992), and
        each token has a variance of its own.

        Raises ValueError for fewer than two answers or three tokens.
        """
        answers, tokens = residuals.shape
        if answers < 2 or tokens < 3:
            raise ValueError(f"noise is told apart by two answers and three tokens at least, not {residuals.shape}")
        means = np.nanmean(residuals, axis=1)
        around = np.nanvar(residuals - means[:, np.newaxis], axis=0, ddof=1)
        # Around the answer's mean a token keeps vⱼ (1 − 2/T) + v̄/T of its variance.
        mean_own = float(around.mean()) / (1.0 - 1.0 / tokens)
        own = (around - mean_own / tokens) / (1.0 - 2.0 / tokens)
        common = float(means.var(ddof=1)) - mean_own / tokens
        return cls(np.maximum(LEAST, own), max(0.0, common))

    def squared(self, residual: FloatArray) -> FloatArray:
        """rᵀ Σ⁻¹ r over the tokens that are known, [..., tokens] → [...]; by Sherman and Morrison's formula."""
        weights = np.where(np.isfinite(residual), 1.0 / self.own, 0.0)
        r = np.where(np.isfinite(residual), residual, 0.0)
        along, total = (weights * r).sum(axis=-1), weights.sum(axis=-1)
        return np.asarray((weights * r**2).sum(axis=-1) - self.common * along**2 / (1.0 + self.common * total))


def distance(residuals: FloatArray, noise: Whitening, enrolled: int) -> FloatArray:
    """n r̄ᵀ Σ⁻¹ r̄ of [..., answers, tokens] around the means of `enrolled` answers, in nats, NaN where a token says
    nothing; n is 1 / (1/answers + 1/enrolled). A token that fewer answers know counts by as much less."""
    if enrolled < 1:
        raise ValueError(f"means are of one answer at least, not {enrolled}")
    known = np.isfinite(residuals)
    count = known.sum(axis=-2)
    total = np.where(known, residuals, 0.0).sum(axis=-2)
    answers = residuals.shape[-2]
    # As if every answer knew it, and those that do not were on the mean.
    mean = np.where(count > 0, total / answers, np.nan)
    return np.asarray(noise.squared(mean) / (1.0 / answers + 1.0 / enrolled))


def relabelled_p(
    baseline: FloatArray, now: FloatArray, draws: int, rng: np.random.Generator, noise: Whitening | None = None
) -> float:
    """p that answers of one prompt [answers, tokens] are as far from the baseline's as they are by chance: the labels
    are dealt out anew, and the deal seen counts as one (Phipson & Smyth 2010). Exact where answers could change places.
    noise: from answers of neither side; by default from the two sides together, which no deal changes."""
    pooled = np.concatenate([baseline, now])
    if noise is None:
        noise = Whitening.of(pooled - np.nanmean(pooled, axis=0))
    size = len(now)
    dealt = rng.random((draws, len(pooled))).argsort(axis=1)
    dealt = np.concatenate([np.roll(np.arange(len(pooled)), size)[np.newaxis], dealt])
    values = pooled[dealt]
    apart = np.nanmean(values[:, :size], axis=1) - np.nanmean(values[:, size:], axis=1)
    found = noise.squared(apart)
    return float(np.mean(found >= found[0] * (1.0 - 1e-9)))


def most_telling(steps: FloatArray, noises: Sequence[Whitening]) -> IntArray:
    """Prompts in the order in which one answer to them tells suspects from the baseline best: by the geometric mean
    over suspects of the squared length of their steps, [suspects, prompts, tokens] in nats, NaN beyond a prompt's
    tokens. The reference computes the steps, so that the endpoint is asked nothing for it (DETECTION.md §7 c)."""
    lengths = np.stack([noise.squared(steps[:, prompt]) for prompt, noise in enumerate(noises)], axis=1)
    return np.argsort(-np.log(np.maximum(lengths, 1e-12)).mean(axis=0), kind="stable")
