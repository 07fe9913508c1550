"""Made-up endpoints with several stacks behind them, and made-up providers of one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulated.rounds import HOURS, TOKENS, Scores
from monitor.drift.levels import DAY
from monitor.drift.mixtures import Answers

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Lawful:
    """noise: of a token within its stack, in nats, half of its variance common to an answer; tails: degrees of freedom
    of Student's law, infinite for normal; daily: of a day's own offset of each token, in nats, and of the logarithm of
    its noise, in parts of 1."""

    noise: float
    tails: float = np.inf
    daily: float = 0.0
    uneven: float = 0.0


@dataclass(frozen=True)
class Backends:
    """Each stack's log-probabilities, in nats, by prompt; shape [stacks, tokens]."""

    places: Mapping[str, Scores]

    @classmethod
    def of(cls, rng: np.random.Generator, stacks: int, shift: float, prompts: int = 3) -> Backends:
        """shift: mean |Δ| a token of each further stack from the first, in nats."""
        places = {}
        for prompt in range(prompts):
            steps = rng.standard_normal((stacks, TOKENS))
            steps *= shift / np.abs(steps).mean(axis=1, keepdims=True)
            steps[0] = 0.0
            places[f"prompt {prompt}"] = -np.sort(rng.exponential(2.0, TOKENS)) + steps
        return cls(places)

    def asked(
        self, rng: np.random.Generator, lawful: Lawful, chances: Sequence[float], answers: int, *, days: int = 14
    ) -> tuple[dict[str, Answers], dict[str, Ints]]:
        """So many answers to each prompt, each routed anew, and of which stack they are."""
        block = np.arange(answers) * days // answers
        found, truth = {}, {}
        for place, (prompt, centres) in enumerate(self.places.items()):
            stack = rng.choice(len(chances), size=answers, p=chances)
            visit = place * answers + np.arange(answers)
            found[prompt] = Answers(centres[stack] + _noise(rng, lawful, block), block, visit)
            truth[prompt] = stack
        return found, truth

    def round(
        self, rng: np.random.Generator, lawful: Lawful, chances: Sequence[float], repeats: int = 1
    ) -> dict[str, Scores]:
        """One round's answers, `repeats` to each prompt, each routed anew."""
        found = {}
        for prompt, centres in self.places.items():
            stack = rng.choice(len(chances), size=repeats, p=chances)
            found[prompt] = centres[stack] + _noise(rng, lawful, np.zeros(repeats, dtype=np.int64))
        return found


def _noise(rng: np.random.Generator, lawful: Lawful, block: Ints) -> Scores:
    noise = rng.standard_normal((block.size, TOKENS)) + rng.standard_normal((block.size, 1))
    noise *= lawful.noise * np.sqrt(0.5)
    if np.isfinite(lawful.tails):
        noise /= np.sqrt(rng.chisquare(lawful.tails, (block.size, 1)) / lawful.tails)
    days = int(block.max()) + 1
    noise *= np.exp(lawful.uneven * rng.standard_normal((days, 1)))[block]
    return np.asarray(noise + lawful.daily * rng.standard_normal((days, TOKENS))[block])


def hour(place: int) -> float:
    return place * DAY / HOURS


def provided(
    rng: np.random.Generator, shifts: Sequence[Sequence[float]], rounding: float, *, prompts: int = 20, repeats: int = 2
) -> dict[str, dict[str, list[dict[bytes, float]]]]:
    """Providers of one model: `shifts` of each towards directions that they share, mean |Δ| a token in nats (int8 is
    one direction, fp8 another); rounding: what lawful stacks differ by, the same."""
    base = -np.sort(rng.exponential(2.0, (prompts, TOKENS)), axis=1)
    towards = _unit(rng, (max(map(len, shifts), default=0), prompts, TOKENS))
    found = {}
    for place, shift in enumerate(shifts):
        values = base + rounding * _unit(rng, (prompts, TOKENS))
        values = values + sum((size * one for size, one in zip(shift, towards, strict=False)), np.zeros(base.shape))
        found[f"provider {place}"] = {
            f"prompt {prompt}": [
                {bytes([token]): float(l) for token, l in enumerate(row + 0.005 * rng.standard_normal(TOKENS))}
                for _ in range(repeats)
            ]
            for prompt, row in enumerate(values)
        }
    return found


def _unit(rng: np.random.Generator, shape: tuple[int, ...]) -> Scores:
    """Normal, of a mean magnitude of 1."""
    return np.asarray(rng.standard_normal(shape) * np.sqrt(np.pi / 2.0))


def routed_tokens(
    rng: np.random.Generator, share: float, visits: int, *, prompts: int = 10, differ: float = 0.5, flips: float = 0.1
) -> tuple[list[dict[str, bytes]], Ints, Ints]:
    """First tokens of visits, each to one stack: the second answers `differ` of the prompts otherwise, and each token
    flips by itself with the day's chance of about `flips`. Blocks of 20 visits; and whose each visit is."""
    stack = (rng.random(visits) < share).astype(np.int64)
    block = np.arange(visits) // 20
    odd = np.arange(prompts) < differ * prompts
    chance = rng.beta(4.0, 4.0 / flips - 4.0, int(block.max()) + 1)[block]
    token = (stack[:, np.newaxis] * odd) ^ (rng.random((visits, prompts)) < chance[:, np.newaxis])
    return [{f"prompt {p}": bytes([97 + one]) for p, one in enumerate(row)} for row in token.tolist()], block, stack
