"""Seeded sampling: the token at a position is a pure function of (seed, position, distribution).

Gumbel-max: the token with the largest log-probability / temperature + noise, where each token's noise comes from a
counter hash of (seed, position, token id). No state, no order: speculation and batching cannot change a sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Draw:
    """How the token at `position` is drawn. Temperature 0 takes the most likely token, the lowest id among equals;
    `top_p` keeps the fewest most likely tokens (after temperature) whose probabilities reach it."""

    temperature: float
    top_p: float
    seed: int
    position: int


def gumbel_noise(seed: int, position: int, token_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Standard Gumbel values, one for each token id."""
    key = _mixed(np.array([(seed + _GOLDEN) & _MASK], dtype=np.uint64))
    key = _mixed(key ^ np.uint64((position * _GOLDEN) & _MASK))
    bits = _mixed(_mixed(token_ids.astype(np.uint64) * np.uint64(_GOLDEN) + key) ^ key)
    uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    noise: NDArray[np.float64] = -np.log(-np.log(uniform))
    return noise


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every output bit depends on every input bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def sample(logprobs: NDArray[np.float64], *, temperature: float, top_p: float, seed: int, position: int) -> int:
    """One token id. Temperature 0 takes the most likely token, the lowest id among equals.

    `top_p` keeps the fewest most likely tokens (after temperature) whose probabilities reach it.
    """
    if temperature == 0.0:
        return int(np.argmax(logprobs))
    scaled = (logprobs - logprobs.max()) / temperature
    ids = nucleus(scaled, top_p) if top_p < 1.0 else np.arange(len(scaled), dtype=np.int64)
    return int(ids[np.argmax(scaled[ids] + gumbel_noise(seed, position, ids))])


def nucleus(scaled: NDArray[np.float64], top_p: float) -> NDArray[np.int64]:
    """The ids that top_p keeps, ascending. `scaled` are log-probabilities less their maximum."""
    order = np.argsort(-scaled, kind="stable")
    weights = np.exp(scaled[order])
    reached = np.cumsum(weights) / weights.sum()
    count = min(int(np.searchsorted(reached, top_p)) + 1, len(order))
    kept: NDArray[np.int64] = np.sort(order[:count]).astype(np.int64)
    return kept
