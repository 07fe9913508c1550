"""Evidence that adds up over runs, for faults too small for one: betting e-processes, and a CUSUM to draw.

States are values: `after` gives the next one, and `start` is the reset that follows an acknowledged change. Thresholds
of the e-processes are DETECTION.md §2.5's; the CUSUM promises a run length only and alarms nobody. Processes that see
the same answers are averaged, never multiplied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

# In units of one over the lawful level: the largest keeps every factor positive, whatever the score.
_BETS = (0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
# Calibrators κ p^(κ − 1), each of mean at most 1 for a valid p.
_CALIBRATORS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
# Wealth beyond this changes no decision; cut from above, the bound still holds.
_MOST_WEALTH = 1e12
# A single run counts no more, however odd it was.
_LARGEST_Z = 4.0
_NODES = 80


@dataclass(frozen=True, slots=True)
class Wealth:
    """What several bets have made of 1 that is staked in `horizon` equal parts, one before each round: the change may
    begin at any of them. `staked` counts the parts that are in play.

    While every factor has mean at most 1 given the past, P(`value` ever reaches 1/α) ≤ α (Ville).
    """

    horizon: int
    bets: tuple[float, ...]
    staked: int = 0

    @property
    def value(self) -> float:
        return 1.0 - self.staked / self.horizon + sum(self.bets) / len(self.bets)

    def times(self, factors: Iterable[float]) -> Self:
        more = self.staked < self.horizon
        stake = 1.0 / self.horizon if more else 0.0
        bets = tuple(min(_MOST_WEALTH, f * (kept + stake)) for f, kept in zip(factors, self.bets, strict=True))
        return replace(self, bets=bets, staked=self.staked + more)


@dataclass(frozen=True, slots=True)
class EProcess:
    """Bets that scores in [0, 1] exceed `lawful` on average (DETECTION.md §2.5)."""

    lawful: float
    wealth: Wealth

    @classmethod
    def start(cls, lawful: float, horizon: int) -> Self:
        """horizon: the scores in an epoch."""
        return cls(lawful, Wealth(horizon, (0.0,) * len(_BETS)))

    @property
    def value(self) -> float:
        return self.wealth.value

    def after(self, score: float) -> Self:
        excess = score / self.lawful - 1.0
        return replace(self, wealth=self.wealth.times(1.0 + bet * excess for bet in _BETS))


@dataclass(frozen=True, slots=True)
class PValueProcess:
    """Bets that the exact p of run after run, each of fresh answers, is small: the way to faults on few prompts, which
    leave the mean difference where it was."""

    wealth: Wealth

    @classmethod
    def start(cls, horizon: int) -> Self:
        """horizon: the runs in an epoch."""
        return cls(Wealth(horizon, (0.0,) * len(_CALIBRATORS)))

    @property
    def value(self) -> float:
        return self.wealth.value

    def after(self, p: float) -> Self:
        return replace(self, wealth=self.wealth.times(kappa * p ** (kappa - 1.0) for kappa in _CALIBRATORS))


@dataclass(frozen=True, slots=True)
class DifferenceProcess:
    """The same for differences in [−1, 1] that are lawful up to ±`lawful` on average: half the stake on either side.

    Differences are those of single prompts, p_i − q_i, in an order drawn at random: many small rounds win more than few
    large ones, whose evidence is capped.
    """

    up: EProcess
    down: EProcess

    @classmethod
    def start(cls, lawful: float, horizon: int) -> Self:
        side = EProcess.start((1.0 + lawful) / 2.0, horizon)
        return cls(side, side)

    @property
    def value(self) -> float:
        return (self.up.value + self.down.value) / 2.0

    def after(self, difference: float) -> Self:
        return replace(self, up=self.up.after((1.0 + difference) / 2.0), down=self.down.after((1.0 - difference) / 2.0))


@dataclass(frozen=True, slots=True)
class Cusum:
    """Page's two-sided sum of standardised light runs, less `slack` each: the shift, halved, that it is tuned to."""

    slack: float = 0.5
    up: float = 0.0
    down: float = 0.0

    @property
    def value(self) -> float:
        """To be held against `cusum_threshold`."""
        return max(self.up, self.down)

    def after(self, z: float) -> Self:
        bounded = min(_LARGEST_Z, max(-_LARGEST_Z, z))
        return replace(
            self, up=max(0.0, self.up + bounded - self.slack), down=max(0.0, self.down - bounded - self.slack)
        )


@lru_cache(maxsize=32)
def cusum_threshold(runs: int, *, slack: float = 0.5) -> float:
    """The threshold that an unchanged endpoint's `Cusum` crosses once in `runs` runs on average, z being normal.

    A year of hourly runs is 8,766. Either side has to last twice as long.
    """
    low, high = 0.0, 40.0
    while high - low > 1e-6:
        middle = (low + high) / 2.0
        if _run_length(middle, slack) < 2.0 * runs:
            low = middle
        else:
            high = middle
    return high


def _run_length(threshold: float, slack: float) -> float:
    """Mean runs until a one-sided CUSUM from 0 passes the threshold, by Page's integral equation (Page 1954):
    L(u) = 1 + L(0) Φ(k − u) + ∫₀ʰ L(x) φ(x + k − u) dx, on Gauss–Legendre nodes."""
    from scipy.special import ndtr

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    places = np.concatenate([[0.0], (nodes + 1.0) * threshold / 2.0])
    density = np.exp(-((places[1:] + slack - places[:, np.newaxis]) ** 2) / 2.0) / np.sqrt(2.0 * np.pi)
    moves = np.column_stack([ndtr(slack - places), density * weights * threshold / 2.0])
    return float(np.linalg.solve(np.eye(places.size) - moves, np.ones(places.size))[0])


def standardised(difference: float, p: float) -> float:
    """A run's two-sided p as a standard normal value, with the sign of its difference."""
    from scipy.special import ndtri

    return float(np.copysign(ndtri(1.0 - p / 2.0), difference))
