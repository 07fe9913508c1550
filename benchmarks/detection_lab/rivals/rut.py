"""RUT, the rank-based uniformity test (Zhu et al., ICLR 2026): the rank of each answer's score among those of the
reference's answers to the same prompt, uniform where the endpoint is the reference, by Cramér and von Mises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ids = NDArray[np.int32]


def log_rank(ranks: Ids) -> Floats:
    """An answer's score: the mean of log(rank) over its tokens, the most likely one's rank being 1 there; ranks
    [..., tokens] from 0, negative after the end."""
    there = ranks >= 0
    return np.asarray(np.where(there, np.log1p(np.maximum(ranks, 0)), 0.0).sum(axis=-1) / there.sum(axis=-1))


def randomised_ranks(scores: Floats, reference: Floats, rng: np.random.Generator) -> Floats:
    """r = (#{reference below} + U · #{ties}) / m for each of the scores [n], among its row of the reference [n, m]."""
    below = (reference < scores[:, None]).sum(axis=1)
    ties = (reference == scores[:, None]).sum(axis=1)
    return np.asarray((below + rng.random(len(scores)) * ties) / reference.shape[1])


def omega_squared(ranks: Floats) -> float:
    """1 / 12n + Σ ((2i - 1) / 2n - r₍ᵢ₎)²."""
    n = len(ranks)
    expected = (2 * np.arange(1, n + 1) - 1) / (2 * n)
    return float(1 / (12 * n) + ((expected - np.sort(ranks)) ** 2).sum())


def p_value(ranks: Floats) -> float:
    """Under ranks uniform on [0, 1]."""
    from scipy.stats import cramervonmises

    return float(cramervonmises(ranks, "uniform").pvalue)
