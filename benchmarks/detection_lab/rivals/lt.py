"""LT, log-probability tracking (Chauvin et al., ICLR 2026, arXiv 2512.03816), and the rule its authors run with it.

A response is a row of log-probabilities over a fixed list of tokens, nan where it does not list a token.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

WINDOW = 24
HISTORY, LEFT_OUT = 100, 2 * WINDOW
SIGMAS, NATS = 12.0, 1.0


def imputed(responses: Floats) -> Floats:
    """A token that a response does not list counts as the smallest log-probability that it does list."""
    return np.where(np.isnan(responses), np.nanmin(responses, axis=-1, keepdims=True), responses)


def statistic(first: Floats, second: Floats) -> Floats:
    """Mean over tokens of |mean of `first` - mean of `second`|, in nats; shapes [..., responses, tokens].

    Tokens that no response lists do not count.
    """
    listed = ~(np.isnan(first).all(axis=-2) & np.isnan(second).all(axis=-2))
    difference = np.abs(imputed(first).mean(axis=-2) - imputed(second).mean(axis=-2))
    return np.asarray((difference * listed).sum(axis=-1) / listed.sum(axis=-1))


def p_value(first: Floats, second: Floats, draws: int, rng: np.random.Generator) -> float:
    """By permuting the responses; the one seen counts as a draw, without which the level is not kept."""
    pooled = np.concatenate([first, second])
    pooled = imputed(pooled)[:, ~np.isnan(pooled).all(axis=0)]
    dealt = rng.random((draws, len(pooled))).argsort(axis=1) < len(first)
    taken = np.concatenate([[np.arange(len(pooled)) < len(first)], dealt]).astype(float)
    ours, theirs = taken @ pooled / len(first), (1.0 - taken) @ pooled / len(second)
    statistics = np.abs(ours - theirs).mean(axis=1)
    return float((statistics >= statistics[0] - 1e-12).mean())


def series(responses: Floats, window: int = WINDOW) -> Floats:
    """The statistic at each time between the `window` responses before it and those from it on; responses in the order
    they came, [times, tokens]. The first value belongs to time `window`."""
    means = sliding_window_view(imputed(responses), window, axis=0).mean(axis=-1)
    return np.asarray(np.abs(means[:-window] - means[window:]).mean(axis=1))


def alarms(scores: Floats, sigmas: float = SIGMAS, nats: float = NATS) -> Booleans:
    """The authors' rule: above `nats`, and `sigmas` standard deviations above the mean of the `HISTORY` scores before
    the last `LEFT_OUT`; never before so many scores are there."""
    deviations = standardised(scores)
    return (deviations > sigmas) & (scores > nats)


def standardised(scores: Floats) -> Floats:
    """(score - mean) / standard deviation of its history; nan where there is none, ∞ where the history never moved."""
    found = np.full(len(scores), np.nan)
    past = HISTORY + LEFT_OUT
    if len(scores) > past:
        history = sliding_window_view(scores, HISTORY)[: len(scores) - past]
        above = scores[past:] - history.mean(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found[past:] = np.where(above == 0.0, 0.0, above / history.std(axis=1))
    return found
