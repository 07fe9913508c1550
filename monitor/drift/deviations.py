"""How far log-probabilities are from what they were at enrolment, as scores in [0, 1] (DETECTION.md §2.3, T1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.drift.observation import FloatArray
from monitor.drift.rule import LAWFUL_SHIFT

_QUANTILE, _REACH = 0.99, 4.0
# Where nothing differs between a baseline's answers: as if they did by what two builds of one engine do.
LEAST_CAP = _REACH * LAWFUL_SHIFT
# Another temperature than this is none that anyone serves; a fit beyond it is of something else.
_MOST_SCALE = 4.0


def mean_deviations(residuals: NDArray[np.floating[Any]]) -> FloatArray:
    """D_k: mean |Δ| in nats over the tokens that count, [..., tokens] → [...]; NaN where none does."""
    counted = np.isfinite(residuals)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(residuals).sum(axis=-1, where=counted, dtype=np.float64) / counted.sum(axis=-1))


def caps(deviations: FloatArray) -> FloatArray:
    """c_k: four times the 99 % quantile of a baseline's deviations, [answers, ...] → [...], `LEAST_CAP` at least; NaN
    ones are left out. A deviation as large scores 1."""
    return np.asarray(np.maximum(LEAST_CAP, _REACH * np.nanquantile(deviations, _QUANTILE, axis=0)))


def capped(deviations: FloatArray, cap: FloatArray | float) -> FloatArray:
    """min(1, D_k / c_k), of shapes that broadcast."""
    return np.asarray(np.minimum(1.0, deviations / cap))


def fitted_scale(now: FloatArray, before: FloatArray) -> float:
    """1/T by which log-odds are what they were before, by least squares over the pairs of which both are finite; 1
    where there is nothing to fit. Temperature divides logits, and so their differences, which log-odds are."""
    known = np.isfinite(now) & np.isfinite(before)
    energy = float((before[known] ** 2).sum())
    if energy == 0.0:
        return 1.0
    return float(np.clip((now[known] * before[known]).sum() / energy, 1.0 / _MOST_SCALE, _MOST_SCALE))


def noise_ratio(noise: float, target: float) -> float:
    """How much larger the mean deviation is once a shift is added whose mean deviation is `target`, both in nats: those
    of normal values add as their deviations do, √(noise² + target²) / noise."""
    return float(np.hypot(noise, target) / noise) if noise > 0.0 else np.inf
