"""Made-up rounds of many endpoints at once: lawful noise, and changes laid on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from monitor.drift.calibration import calibrate
from monitor.drift.deviations import capped, caps, mean_deviations
from monitor.drift.fingerprint import LEAST_ANSWERS
from monitor.drift.levels import DAY, Levels

Scores = NDArray[np.float64]
HOURS = 24
CALIBRATION_DAYS, EPOCH_DAYS = 14, 30
# Of days' rates of first tokens that differ from the baseline's (DETECTION.md §2.4).
DAY_NOISE = (4.0, 36.0)
PROMPTS, TOKENS = 8, 20


def day_rates(rng: np.random.Generator, streams: int, days: int, in_common: float = 0.0) -> Scores:
    """Shape [streams, days], each Beta(4, 36); `in_common` is the correlation of the normal values behind them, of all
    streams on one day: shared shocks."""
    shared, own = rng.standard_normal((1, days)), rng.standard_normal((streams, days))
    normal = np.sqrt(in_common) * shared + np.sqrt(1.0 - in_common) * own
    return np.asarray(special.betaincinv(*DAY_NOISE, special.ndtr(normal)))


def border_rounds(rng: np.random.Generator, rates: Scores, asked: int = 10) -> Scores:
    """T2: hourly shares of one-token queries that differ, shape [streams, hours], at the rates of [streams, days]."""
    return np.asarray(rng.binomial(asked, np.repeat(rates, HOURS, axis=1)) / asked)


def mixed(rates: Scores, share: float) -> Scores:
    """A share of the queries is answered by another model, whose first tokens all differ."""
    return np.asarray(rates + share * (1.0 - rates))


@dataclass(frozen=True)
class Fingerprint:
    """T1 endpoints (DETECTION.md §2.10): noise in nats, half of its variance common to a response's tokens, and the
    deviation of its daily factor, which is log-normal. `caps` are c_k of §2.3, shape [streams, prompts]."""

    noise: float
    daily: float
    caps: Scores

    @classmethod
    def of(cls, rng: np.random.Generator, streams: int, noise: float, daily: float = 0.0) -> Fingerprint:
        """With the caps of an enrolment from as few responses as it takes."""
        without = cls(noise, daily, np.ones((streams, PROMPTS)))
        found = without._deviations(rng, np.ones((streams, LEAST_ANSWERS)), None)
        return cls(noise, daily, caps(found.swapaxes(0, 1)))

    def rounds(self, rng: np.random.Generator, days: int, shift: float = 0.0) -> Scores:
        """Hourly mean scores, shape [streams, hours]; shift: mean |Δ| per token, of a direction of its own each."""
        streams = len(self.caps)
        factors = np.repeat(np.exp(self.daily * rng.standard_normal((streams, days))), HOURS, axis=1)
        moved = None
        if shift:
            moved = rng.standard_normal((streams, 1, PROMPTS, TOKENS))
            moved *= shift / np.abs(moved).mean(axis=-1, keepdims=True)
        deviations = self._deviations(rng, factors, moved)
        return np.asarray(capped(deviations, self.caps[:, np.newaxis, :]).mean(axis=2))

    def _deviations(self, rng: np.random.Generator, factors: Scores, moved: Scores | None) -> Scores:
        """Mean |Δ| over tokens of each response, shape [streams, rounds, prompts]."""
        size = (*factors.shape, PROMPTS, TOKENS)
        noise = rng.standard_normal(size, dtype=np.float32) + rng.standard_normal((*size[:-1], 1), dtype=np.float32)
        noise *= (self.noise * np.sqrt(0.5) * factors)[:, :, np.newaxis, np.newaxis]
        return mean_deviations(noise if moved is None else noise + moved)


@dataclass(frozen=True)
class Calibrated:
    """Which of the streams have levels, and these, shape [with levels]."""

    ready: NDArray[np.bool_]
    hourly: Scores
    daily: Scores

    @classmethod
    def of(cls, scores: Scores, days: int = CALIBRATION_DAYS) -> Calibrated:
        at = np.arange(scores.shape[1]) * (DAY / HOURS)
        found = [calibrate(at, row, days=days).levels for row in scores]
        levels: list[Levels] = [one for one in found if one is not None]
        return cls(
            np.array([one is not None for one in found]),
            np.array([one.hourly for one in levels]),
            np.array([one.daily for one in levels]),
        )
