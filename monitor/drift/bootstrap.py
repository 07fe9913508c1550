"""Intervals by resampling prompts, since the tokens of one answer are not independent."""

from __future__ import annotations

import numpy as np

from monitor.drift.interval import Interval
from monitor.drift.observation import FloatArray

_RESAMPLES = 4_000


def interval_of_mean(values: FloatArray, *, level: float = 0.95, seed: int = 0) -> tuple[float, Interval | None]:
    """Mean of per-prompt values and its studentised bootstrap interval (Efron & Tibshirani 1993, ch. 12).

    None for fewer than three prompts. The lower end of a mean of magnitudes is cut at 0.
    """
    mean = float(values.mean())
    if values.size < 3:
        return mean, None
    error = float(values.std(ddof=1) / np.sqrt(values.size))
    if error < 1e-12:
        return mean, Interval(mean, mean, level)
    rng = np.random.default_rng(seed)
    drawn = values[rng.integers(0, values.size, size=(_RESAMPLES, values.size))]
    errors = drawn.std(axis=1, ddof=1) / np.sqrt(values.size)
    usable = errors > 1e-12
    t = (drawn.mean(axis=1)[usable] - mean) / errors[usable]
    low, high = np.quantile(t, [(1 - level) / 2, (1 + level) / 2])
    floor = 0.0 if float(values.min()) >= 0.0 else -np.inf
    return mean, Interval(max(floor, mean - float(high) * error), mean - float(low) * error, level)
