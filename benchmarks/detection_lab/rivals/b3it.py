"""B3IT, border inputs (Chauvin et al., ICML 2026): the first token at temperature 0 where two are nearly tied, by total
variation from what was seen at enrolment; and the rule its authors run with it.

Counts are [border inputs, tokens]: how often each token came.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Booleans = NDArray[np.bool_]

WINDOW, LEFT_OUT, LEAST = 14, 4, 7
SIGMAS, DISTANCE, DAYS = 4.0, 0.2, 3


def statistic(reference: Counts, batch: Counts) -> float:
    """Mean over border inputs of the total variation between the two empirical distributions."""
    return float(total_variation(reference, batch).mean())


def total_variation(reference: Counts, batch: Counts) -> Floats:
    """Of each border input."""
    p, q = (counts / counts.sum(axis=-1, keepdims=True) for counts in (reference, batch))
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def p_value(reference: Counts, batch: Counts, draws: int, rng: np.random.Generator) -> float:
    """By dealing each border input's tokens out again; the deal seen counts as a draw."""
    sizes = batch.sum(axis=-1)
    pooled = reference + batch
    dealt = np.empty((draws, *batch.shape), dtype=np.int64)
    for row, (tokens, size) in enumerate(zip(pooled, sizes, strict=True)):
        dealt[:, row] = rng.multivariate_hypergeometric(tokens, int(size), size=draws, method="marginals")
    seen = statistic(reference, batch)
    others = total_variation(pooled - dealt, dealt).mean(axis=-1)
    return float((1 + (others >= seen - 1e-12).sum()) / (1 + draws))


def balance(counts: Counts) -> Floats:
    """How near a prompt is to a tie: its second most frequent token by its most frequent one."""
    highest = np.sort(counts, axis=-1)
    return np.asarray(highest[..., -2] / highest[..., -1])


def alarms(daily: Floats, sigmas: float = SIGMAS, distance: float = DISTANCE, days: int = DAYS) -> Booleans:
    """The authors' rule on daily mean total variations: true on the day that ends `days` days in a row, each of them
    further from the mean of the `WINDOW` days before the last `LEFT_OUT` than `distance` and than `sigmas` of their
    standard deviations. Never before `LEAST` such days are there."""
    far = np.zeros(len(daily), dtype=bool)
    for day in range(LEFT_OUT + LEAST, len(daily)):
        past = daily[max(0, day - LEFT_OUT - WINDOW) : day - LEFT_OUT]
        away = abs(daily[day] - past.mean())
        far[day] = away > distance and away > sigmas * past.std(ddof=1)
    streak = np.lib.stride_tricks.sliding_window_view(np.concatenate([np.zeros(days - 1, dtype=bool), far]), days)
    return np.asarray(streak.all(axis=1))
