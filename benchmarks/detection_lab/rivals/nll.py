"""The mean negative log-probability of answers under the reference, compared prompt by prompt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_nll(logprobs: Floats) -> Floats:
    """Of each answer [..., tokens], in nats a token; nan after the end."""
    return np.asarray(-np.nanmean(logprobs, axis=-1))


def z(first: Floats, second: Floats) -> float:
    """How many standard errors the second side's answers are less likely, from [prompts, answers] of each side; prompts
    count alike, and each keeps its own mean and variance."""
    difference = second.mean(axis=1) - first.mean(axis=1)
    variance = first.var(axis=1, ddof=1) / first.shape[1] + second.var(axis=1, ddof=1) / second.shape[1]
    return float(difference.sum() / np.sqrt(variance.sum()))


def p_value(first: Floats, second: Floats) -> float:
    """Two-sided, by the normal distribution."""
    from scipy.stats import norm

    return float(2 * norm.sf(abs(z(first, second))))
