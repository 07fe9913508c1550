"""Rounds of many endpoints that are made up, with and without a change: what a plan's delays are simulated on.

Rounds of a tier are drawn from what is known of its noise: T1 from normal noise on log-probabilities of which a part is
common to a response (DETECTION.md §2.10), T2 from days whose rates of other first tokens differ (§2.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from monitor.drift.observation import FloatArray
from monitor.drift.response_noise import ResponseNoise
from monitor.drift.whitened import Whitening
from monitor.drift.whitened_scores import LEAST_OWN, reach_of, tail

TOKENS = 20
# Of what is lawful so many responses, and rounds of them, are drawn once and taken from.
_RESPONSES, _ROUNDS = 32_768, 16_384
# Of a changed endpoint's day so many responses are drawn, and taken again where more are asked.
_A_DAY = 384
# c_k of §2.3: so many times the 99 % quantile of lawful deviations, and so many nats at least, as enrolment has it.
_CAP, _LEAST_CAP = 4.0, 0.04
# Of days' rates of first tokens that differ from the baseline's.
DAY_RATES = (4.0, 36.0)


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often a tier asks, and how many requests at once."""

    rounds_a_day: int
    requests: int

    @property
    def requests_a_day(self) -> int:
        return self.rounds_a_day * self.requests

    @property
    def interval_hours(self) -> float:
        return 24.0 / self.rounds_a_day


class Tier(Protocol):
    """Mean scores of rounds in [0, 1]; both of shape [endpoints, days × rounds a day]."""

    def lawful(self, rng: np.random.Generator, endpoints: int, days: int, cadence: Cadence) -> FloatArray: ...

    def changed(self, rng: np.random.Generator, endpoints: int, days: int, cadence: Cadence) -> FloatArray: ...


@dataclass(frozen=True)
class Fingerprint:
    """T1: each response scores min(1, D/c), D being the mean |Δ| of its tokens' log-probabilities from the baseline's
    means. `shift`: the mean |Δ| per token that the change makes, in nats, in a direction of its own for each prompt;
    `share`: the part of the responses that it reaches."""

    noise: ResponseNoise
    shift: float
    share: float = 1.0

    def lawful(self, rng: np.random.Generator, endpoints: int, days: int, cadence: Cadence) -> FloatArray:
        responses = self._read(self._residuals(rng, (_RESPONSES,), 1.0)) / self._reach
        rounds = rng.choice(responses, (_ROUNDS, cadence.requests)).mean(axis=1)
        drawn = rng.choice(rounds, (endpoints, days, cadence.rounds_a_day))
        scores = np.minimum(1.0, drawn * self._factors(rng, endpoints, days)[..., np.newaxis])
        return np.asarray(scores.reshape(endpoints, -1))

    def changed(self, rng: np.random.Generator, endpoints: int, days: int, cadence: Cadence) -> FloatArray:
        rounds = min(cadence.rounds_a_day, max(8, _A_DAY // cadence.requests))
        steps = rng.standard_normal((endpoints, 1, cadence.requests, TOKENS), dtype=np.float32)
        steps *= self.shift / np.abs(steps).mean(axis=-1, keepdims=True)
        factors = self._factors(rng, endpoints, days)
        found = np.empty((endpoints, days, cadence.rounds_a_day))
        for day in range(days):
            size = (endpoints, rounds, cadence.requests)
            reached = rng.random(size)[..., np.newaxis] < self.share
            noise = factors[:, day, np.newaxis, np.newaxis, np.newaxis]
            residuals = self._residuals(rng, size, noise, np.where(reached, steps, 0.0))
            means = self._scores(self._read(residuals)).mean(axis=2)
            again = np.arange(cadence.rounds_a_day) % rounds
            found[:, day] = means[:, again]
        return found.reshape(endpoints, -1)

    def _factors(self, rng: np.random.Generator, endpoints: int, days: int) -> FloatArray:
        return np.asarray(np.exp(self.noise.daily * rng.standard_normal((endpoints, days))))

    def _read(self, residuals: NDArray[np.float32]) -> FloatArray:
        return np.asarray(np.abs(residuals).mean(axis=-1), dtype=np.float64)

    def _scores(self, read: FloatArray) -> FloatArray:
        return np.minimum(1.0, read / self._reach)

    @cached_property
    def _reach(self) -> float:
        return max(_LEAST_CAP, _CAP * self._lawful_quantile())

    def _lawful_quantile(self) -> float:
        return float(np.quantile(self._read(self._residuals(np.random.default_rng(0), (_RESPONSES,), 1.0)), 0.99))

    def _residuals(
        self,
        rng: np.random.Generator,
        size: tuple[int, ...],
        factor: FloatArray | float,
        moved: FloatArray | float = 0.0,
    ) -> NDArray[np.float32]:
        own = np.float32(self.noise.deviation * np.sqrt(1.0 - self.noise.common))
        shared = np.float32(self.noise.deviation * np.sqrt(self.noise.common))
        noise = own * rng.standard_normal((*size, TOKENS), dtype=np.float32)
        noise += shared * rng.standard_normal((*size, 1), dtype=np.float32)
        return np.asarray(noise * factor + moved, dtype=np.float32)


@dataclass(frozen=True)
class Lengths(Fingerprint):
    """T1 by whitened lengths, as `whitened_scores` has it: the noise is known, and each response scores what its
    squared length is beyond its reach."""

    def lawful(self, rng: np.random.Generator, endpoints: int, days: int, cadence: Cadence) -> FloatArray:
        responses = self._read(self._residuals(rng, (_RESPONSES,), 1.0))
        factors = self._factors(rng, endpoints, days)[..., np.newaxis] ** 2
        total = np.zeros((endpoints, days, cadence.rounds_a_day))
        for _ in range(cadence.requests):
            total += self._scores(factors * rng.choice(responses, total.shape))
        return total.reshape(endpoints, -1) / cadence.requests

    def _read(self, residuals: NDArray[np.float32]) -> FloatArray:
        return self._whitening.squared(residuals.astype(np.float64))

    def _scores(self, read: FloatArray) -> FloatArray:
        return tail(read, self._reach)

    @cached_property
    def _reach(self) -> float:
        return reach_of(TOKENS, self._lawful_quantile())

    @cached_property
    def _whitening(self) -> Whitening:
        variance = self.noise.deviation**2
        own = np.full(TOKENS, max(LEAST_OWN, variance * (1.0 - self.noise.common)))
        return Whitening(own, variance * self.noise.common)


@dataclass(frozen=True)
class Border:
    """T2: the share of first tokens that are not the baseline's. Each day has a lawful rate from Beta(`day_rates`);
    `flips` is the part of the lawful answers that are others after the change."""

    flips: float
    day_rates: tuple[float, float] = DAY_RATES

    def lawful(self, rng: np.random.Generator, endpoints: int, days: int, cadence: Cadence) -> FloatArray:
        return self._rounds(rng, rng.beta(*self.day_rates, (endpoints, days)), cadence)

    def changed(self, rng: np.random.Generator, endpoints: int, days: int, cadence: Cadence) -> FloatArray:
        rates = rng.beta(*self.day_rates, (endpoints, days))
        return self._rounds(rng, rates + self.flips * (1.0 - rates), cadence)

    def _rounds(self, rng: np.random.Generator, rates: FloatArray, cadence: Cadence) -> FloatArray:
        hourly = np.repeat(rates, cadence.rounds_a_day, axis=1)
        return np.asarray(rng.binomial(cadence.requests, hourly) / cadence.requests)
