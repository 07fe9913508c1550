"""Factors of the tiers that count: T3 tokens that the reference would not give, T4 draws, T6 calls that are broken.

Each is a likelihood ratio of an alternative to what is lawful, one bet for each alternative; products over what is
asked have mean at most 1 while nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from monitor.drift import broken_calls
from monitor.drift.observation import FloatArray

# Alternatives of a sampler (DETECTION.md §2.3): temperatures, and what becomes of the tokens that are not listed.
_TEMPERATURES = (0.7, 0.85, 0.93, 1.07, 1.15)
_COOLER, _WARMER, _CUT = 0.8, 1.15, 0.3
LISTED = 20
# Of the next token of an open question, in nats: what prompts for the sampler are chosen for.
ENTROPY = 2.8
_TAIL = 400
# A round's factor is cut above e to this, which no process holds.
_MOST_NATS = 600.0


class Ratios(Protocol):
    """What a tier's factors are made of."""

    @property
    def nats(self) -> float:
        """KL divergence of the change from what is lawful, for each event; 0 where no bet can win."""

    @property
    def events(self) -> int:
        """Of each request."""

    def factors(
        self, rng: np.random.Generator, endpoints: int, rounds: int, requests: int, *, changed: bool
    ) -> FloatArray:
        """Shape [endpoints, rounds, alternatives]."""


def fewest_events(ratios: Ratios, alpha: float, horizon: int) -> float:
    """(log 1/α + log H) / KL: what a test needs on average that knows the alternative, H being the rounds in which it
    may have begun (DETECTION.md §8; Wald 1945, and log H for the unknown start)."""
    return float(np.log(horizon / alpha) / ratios.nats) if ratios.nats > 0.0 else float("inf")


@dataclass(frozen=True)
class Counted:
    """Events of which a share of at most `lawful` is bad, and `changed` after the change; `events` in each request."""

    lawful: float
    changed: float
    events: int = 1

    def __post_init__(self) -> None:
        if not (0.0 < self.lawful < 1.0 and 0.0 <= self.changed <= 1.0 and self.events >= 1):
            raise ValueError(f"shares are between 0 and 1, of one event at least: {self}")

    @property
    def nats(self) -> float:
        from scipy.special import rel_entr

        if self.changed <= self.lawful:
            return 0.0
        q, p = self.changed, self.lawful
        return float(rel_entr(q, p) + rel_entr(1.0 - q, 1.0 - p))

    @property
    def alternatives(self) -> FloatArray:
        return broken_calls.alternatives(self.lawful)

    def factors(
        self, rng: np.random.Generator, endpoints: int, rounds: int, requests: int, *, changed: bool
    ) -> FloatArray:
        asked = requests * self.events
        bad = rng.binomial(asked, self.changed if changed else self.lawful, (endpoints, rounds))
        return np.asarray(np.exp(broken_calls.log_factors(bad, asked, self.lawful)))


@dataclass(frozen=True)
class Sampler:
    """Draws of one token whose chances `probabilities` are returned with them, of which the first `LISTED` are listed
    and the others known together; after the change they are drawn at `temperature`."""

    temperature: float
    probabilities: FloatArray = field(default_factory=lambda: open_question())
    events: int = 1

    def __post_init__(self) -> None:
        if not self.temperature > 0.0:
            raise ValueError(f"a temperature is above 0, and this is {self.temperature}")

    @property
    def nats(self) -> float:
        from scipy.special import rel_entr

        return float(rel_entr(self._drawn(self.temperature), self._lawful).sum())

    def factors(
        self, rng: np.random.Generator, endpoints: int, rounds: int, requests: int, *, changed: bool
    ) -> FloatArray:
        chances = self._drawn(self.temperature) if changed else self._lawful
        counts = rng.multinomial(requests * self.events, chances, (endpoints, rounds))
        logs = np.log(self.alternatives / self._lawful)
        return np.asarray(np.exp(np.minimum(_MOST_NATS, counts @ logs.T)))

    @property
    def alternatives(self) -> FloatArray:
        """Chances of the listed tokens and of all others together, shape [alternatives, listed + 1]."""
        rest = self._lawful[-1]
        tempered = [_within(self._lawful, t, rest * (_COOLER if t < 1.0 else _WARMER)) for t in _TEMPERATURES]
        return np.array([*tempered, _within(self._lawful, 1.0, rest * _CUT)])

    @property
    def _lawful(self) -> FloatArray:
        return self._drawn(1.0)

    def _drawn(self, temperature: float) -> FloatArray:
        tempered = self.probabilities ** (1.0 / temperature)
        tempered /= tempered.sum()
        return np.append(tempered[:LISTED], tempered[LISTED:].sum())


def _within(lawful: FloatArray, temperature: float, rest: float) -> FloatArray:
    """The listed tokens at another temperature, beside a rest of this size."""
    listed = lawful[:-1] ** (1.0 / temperature)
    return np.append(listed * (1.0 - rest) / listed.sum(), rest)


def open_question(entropy: float = ENTROPY) -> FloatArray:
    """A made-up distribution of the next token, falling as a power of the rank, of this entropy in nats."""
    from scipy.optimize import brentq
    from scipy.special import entr

    ranks = np.arange(1.0, _TAIL + 1.0)

    def chances(power: float) -> FloatArray:
        weights = ranks**-power
        return np.asarray(weights / weights.sum())

    power = brentq(lambda power: float(entr(chances(power)).sum()) - entropy, 0.1, 8.0)
    return chances(power)
