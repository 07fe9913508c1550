"""Did log-probabilities move within a baseline? Its means would blend two states, and neither would be drift."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitor.drift.calibration import FEWEST_DAYS
from monitor.drift.levels import DAY
from monitor.drift.observation import FloatArray

_RELABELLINGS = 1_999
# A day with fewer answers than this share of the median day's is begun or broken off; its mean is noisier than others'.
_WHOLE = 0.5


def day_means(at: FloatArray, residuals: FloatArray) -> FloatArray:
    """Means of one prompt's residuals by day, shape [days, tokens], days that are not whole left out; 0 where none of a
    day's answers can be compared. at: seconds since 1970, shape [answers]."""
    day = np.floor(at / DAY)
    days, which, count = np.unique(day, return_inverse=True, return_counts=True)
    known = np.isfinite(residuals)
    total, seen = (np.zeros((days.size, residuals.shape[1])) for _ in range(2))
    np.add.at(total, which, np.where(known, residuals, 0.0))
    np.add.at(seen, which, known)
    return np.asarray((total / np.maximum(1.0, seen))[count >= _WHOLE * np.median(count)])


def moved_p(prompts: Sequence[FloatArray]) -> float | None:
    """p that a level moved once, somewhere, from means of days, [days, tokens] of each prompt: the largest squared
    distance of the means before and after any split, in units of what n days a side make of it, under relabellings of
    the days (as `calibration.unsteady_p`, of vectors). None with fewer than 7 days, or prompts asked on other days."""
    days = len(prompts[0])
    if days < FEWEST_DAYS or any(len(one) != days for one in prompts):
        return None
    means = np.concatenate(prompts, axis=1)
    centred = means - means.mean(axis=0)
    products = centred @ centred.T
    random = np.argsort(np.random.default_rng(0).random((_RELABELLINGS, days)), axis=1)
    orders = np.vstack([np.arange(days), random])
    # Squared length of the sum of the first s days, for every s: the sum of their products.
    dealt = products[orders[:, :, np.newaxis], orders[:, np.newaxis, :]]
    lengths = np.diagonal(dealt.cumsum(axis=1).cumsum(axis=2), axis1=1, axis2=2)[:, 1:-2]
    before = np.arange(2, days - 1)
    found = np.max(lengths / (before * (days - before) / days), axis=1)
    # A tie with the order seen is as large; and days that are all the same show nothing.
    return float(np.mean(found >= found[0] * (1.0 - 1e-9) - 1e-18))
