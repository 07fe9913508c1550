"""What is lawful for a stream: levels its mean score may reach, from days of its own past, or why there are none.

H0 of a stream is that the mean score of a round, given everything before it, is at most a level. A bound from rounds
taken as independent fails where days differ: with a day's rate drawn from Beta(4, 36) it alarms in four epochs of five
(DETECTION.md §2.4). So levels come from the means of days and of six-hour blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from monitor.drift.levels import BLOCKS, DAY, DAYS, FEWEST_BLOCKS, Calibration, Levels, Noise, Standing
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray

FEWEST_DAYS = 7
# Of a change that should be seen, over the mean lawful score; below, nothing could be told apart.
LEAST_RATIO = 1.5
_HOURLY_QUANTILE = 0.999
_DAILY_CONFIDENCE = 0.99
_UNSTEADY_P = 0.005
_RELABELLINGS = 1_999
# The share of the days in which a block has to be seen.
_BLOCK_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Means of the blocks of the last days that count, shape [days, blocks], NaN where nothing was asked; and the
    variance of rounds within them, of the mean of one and of a single round."""

    means: FloatArray
    of_mean: float
    of_round: float

    @classmethod
    def of(cls, at: FloatArray, scores: FloatArray, days: int) -> Self:
        day = np.floor(at / DAY)
        first = day.min()
        cell = ((day - first) * BLOCKS + np.floor((at % DAY) / (DAY / BLOCKS))).astype(np.int64)
        size = int(day.max() - first + 1) * BLOCKS
        count = np.bincount(cell, minlength=size)
        with np.errstate(invalid="ignore"):
            means = np.bincount(cell, weights=scores, minlength=size) / count
        free = np.maximum(count - 1, 0).sum()
        squares = float(((scores - means[cell]) ** 2).sum())
        of_round = squares / free if free else 0.0
        table = means.reshape(-1, BLOCKS)
        counts = np.isfinite(table).sum(axis=1) >= FEWEST_BLOCKS
        return cls(table[counts][-days:], of_round * float(np.mean(1.0 / count[count > 0])), of_round)

    @property
    def days(self) -> FloatArray:
        return np.asarray(np.nanmean(self.means, axis=1))

    @property
    def within_day(self) -> float:
        """Variance of a block's mean around its day's."""
        seen = np.isfinite(self.means)
        squares = np.nansum((self.means - self.days[:, np.newaxis]) ** 2)
        return float(squares / max(1, (seen.sum(axis=1) - 1).sum()))


def calibrate(
    at: FloatArray, scores: FloatArray, *, days: int = DAYS, delta: float = 0.02, target: float = 1.0
) -> Calibration:
    """Levels from rounds at `at` (seconds since 1970) of scores in [0, 1], both of shape [rounds].

    days: how many are needed, 7 at least, and used, the last ones; target: the mean score that the smallest change
    makes which should be seen.

    hourly: the 99.9 % prediction bound of a block's mean, m + t(days − 1) √(v (1 + 1/days)) (Hahn & Meeker 1991),
    and δ above the mean at least; v is the variance of days, and that of blocks within them beyond their rounds' noise.
    Fewer days widen it by themselves. daily: the 99 % upper confidence bound of the mean of days, plus δ.
    """
    if days < FEWEST_DAYS:
        raise ValueError(f"levels need {FEWEST_DAYS} days at least, not {days}")
    if not scores.size:
        return Calibration(Standing.TOO_SHORT, f"0 of {days} days")
    blocks = _Blocks.of(at, scores, days)
    if (short := _too_short(blocks, days)) is not None:
        return Calibration(Standing.TOO_SHORT, short)
    means = blocks.days
    noise = _noise(blocks)
    p = unsteady_p(means)
    if p <= _UNSTEADY_P:
        return Calibration(Standing.UNSTEADY, f"days moved within the baseline (p {p:.4f})", noise)
    levels = _levels(blocks, delta)
    if (why := _too_noisy(noise, levels, target)) is not None:
        return Calibration(Standing.TOO_NOISY, why, noise)
    return Calibration(Standing.READY, str(levels), noise, levels)


def whole_days(at: FloatArray, scores: FloatArray, days: int) -> FloatArray:
    """Mean scores of the last `days` days, or fewer, that `calibrate` would count; arrays as there."""
    return _Blocks.of(at, scores, days).days if scores.size else np.zeros(0)


def _too_short(blocks: _Blocks, days: int) -> str | None:
    if len(blocks.means) < days:
        return f"{len(blocks.means)} of {days} days"
    seen = np.isfinite(blocks.means).mean(axis=0)
    if (seen < _BLOCK_SHARE).any():
        hours = int(np.argmin(seen)) * 24 // BLOCKS
        return f"too little was asked from {hours:02d}:00 to {hours + 24 // BLOCKS:02d}:00 UTC"
    return None


def _noise(blocks: _Blocks) -> Noise:
    means = blocks.days
    return Noise(
        float(means.mean()),
        float(np.sqrt(blocks.of_round)),
        float(np.sqrt(blocks.within_day)),
        float(means.std(ddof=1)),
    )


def _levels(blocks: _Blocks, delta: float) -> Levels:
    from scipy.special import stdtrit

    means = blocks.days
    n, free = means.size, means.size - 1
    mean, variance = float(means.mean()), float(means.var(ddof=1))
    # A day's variance holds a quarter of what blocks within it differ by.
    beyond = max(0.0, (1.0 - 1.0 / BLOCKS) * blocks.within_day - blocks.of_mean)
    reach = float(stdtrit(free, _HOURLY_QUANTILE)) * np.sqrt((variance + beyond) * (1.0 + 1.0 / n))
    sure = float(stdtrit(free, _DAILY_CONFIDENCE)) * np.sqrt(variance / n)
    return Levels(float(max(mean + delta, mean + reach)), float(mean + sure + delta), delta, n)


def _too_noisy(noise: Noise, levels: Levels, target: float) -> str | None:
    ratio = target / noise.mean if noise.mean > 0.0 else np.inf
    if ratio < LEAST_RATIO:
        return (
            f"noise: what is to be seen scores {target:.3f}, {ratio:.2f} times the lawful mean ({LEAST_RATIO} needed)"
        )
    if max(levels.hourly, levels.daily) * LEAST_RATIO > 1.0:
        return f"noise: {max(levels.hourly, levels.daily):.3f} would still be lawful"
    return None


def unsteady_p(days: FloatArray) -> float:
    """p that a level of days moved once, somewhere: the largest standardised difference of the means before and after
    any split, under relabellings of the days (the maximal two-sample statistic; Sen & Srivastava 1975)."""
    centred = days - days.mean()
    before = np.cumsum(centred[_orders(days.size)], axis=1)[:, 1:-2]
    sizes = np.arange(2, days.size - 1)
    found = np.max(np.abs(before) / np.sqrt(sizes * (days.size - sizes) / days.size), axis=1)
    return float(np.mean(found >= found[0] * (1.0 - 1e-9)))


@lru_cache(maxsize=8)
def _orders(days: int) -> IntArray:
    """The order seen, and random ones; nobody changes the array."""
    random = np.argsort(np.random.default_rng(0).random((_RELABELLINGS, days)), axis=1)
    orders = np.vstack([np.arange(days), random])
    orders.flags.writeable = False
    return orders
