"""Evidence that adds up over rounds, for faults too small for one: betting e-processes.

States are values: `after` gives the next one, and `start` is the reset that follows an acknowledged change. Thresholds
are DETECTION.md §2.5's. Processes that see the same answers are averaged, never multiplied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

# In units of one over the lawful level: the largest keeps every factor positive, whatever the score.
BETS = (0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
# Calibrators κ p^(κ − 1), each of mean at most 1 for a valid p.
_CALIBRATORS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
# Wealth beyond this changes no decision; cut from above, the bound still holds.
MOST_WEALTH = 1e12


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
        bets = tuple(min(MOST_WEALTH, f * (kept + stake)) for f, kept in zip(factors, self.bets, strict=True))
        return replace(self, bets=bets, staked=self.staked + more)


def calibrated(p: float) -> Iterable[float]:
    """An exact p as e-values, one a calibrator: each has mean 1 where p is uniform (Vovk & Wang 2021, §2)."""
    return (kappa * p ** (kappa - 1.0) for kappa in _CALIBRATORS)


def calibrated_mean(p: float) -> float:
    return sum(calibrated(p)) / len(_CALIBRATORS)


@dataclass(frozen=True, slots=True)
class EProcess:
    """Bets that scores in [0, 1] exceed `lawful` on average (DETECTION.md §2.5)."""

    lawful: float
    wealth: Wealth

    @classmethod
    def start(cls, lawful: float, horizon: int) -> Self:
        """horizon: the scores in an epoch."""
        return cls(lawful, Wealth(horizon, (0.0,) * len(BETS)))

    @property
    def value(self) -> float:
        return self.wealth.value

    def after(self, score: float) -> Self:
        excess = score / self.lawful - 1.0
        return replace(self, wealth=self.wealth.times(1.0 + bet * excess for bet in BETS))


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
        return replace(self, wealth=self.wealth.times(calibrated(p)))


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
class AverageProcess:
    """Adds up e-values that share answers, each with a part of 1 over `horizon`: Σ eᵣ / horizon over the rounds so far.

    It only grows, and its last value has mean at most 1 whatever the e-values have in common: so P(`value` ever reaches
    1/α) ≤ α (Markov). Unlike a product it needs evidence in most rounds, not in a few.
    """

    horizon: int
    rounds: int = 0
    value: float = 0.0

    @classmethod
    def start(cls, horizon: int) -> Self:
        return cls(horizon)

    def after(self, factor: float) -> Self:
        if self.rounds >= self.horizon:
            return self
        value = min(MOST_WEALTH, self.value + factor / self.horizon)
        return replace(self, rounds=self.rounds + 1, value=value)


@dataclass(frozen=True, slots=True)
class RunLengthProcess:
    """An e-detector, Mᵣ = eᵣ (Mᵣ₋₁ + 1): while scores are lawful, stopping at `value` ≥ c takes c rounds on average or
    more, without an end to an epoch (Shin, Ramdas & Rinaldo 2022, arXiv:2203.03532, §2). It bounds no chance."""

    lawful: float
    bets: tuple[float, ...]

    @classmethod
    def start(cls, lawful: float) -> Self:
        return cls(lawful, (0.0,) * len(BETS))

    @property
    def value(self) -> float:
        return sum(self.bets) / len(self.bets)

    def after(self, score: float) -> Self:
        excess = score / self.lawful - 1.0
        factors = (1.0 + bet * excess for bet in BETS)
        bets = tuple(min(MOST_WEALTH, f * (kept + 1.0)) for f, kept in zip(factors, self.bets, strict=True))
        return replace(self, bets=bets)
