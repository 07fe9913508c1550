"""A share with its denominator, what was left out of it and why, and an interval that fits how it was counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from monitor.drift.interval import Interval

_NONE_EXCLUDED: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Rate:
    """`numerator` of `denominator`; `excluded` counts what belongs to neither, by reason.

    low, high: the two-sided 95 % interval, None where the denominator is 0. method: `wilson`, or `wilson-clustered`
    where several trials share a prompt.
    """

    numerator: int | float
    denominator: int
    excluded: Mapping[str, int]
    low: float | None
    high: float | None
    method: str

    @property
    def value(self) -> float | None:
        """None of nothing: neither 0 nor 1."""
        return self.numerator / self.denominator if self.denominator else None


def rate(successes: int | float, trials: int, *, excluded: Mapping[str, int] = _NONE_EXCLUDED) -> Rate:
    """The rate of independent trials, with Wilson's interval."""
    interval = wilson(successes, trials) if trials else None
    return _with(successes, trials, excluded, interval, "wilson")


def clustered_rate(successes: ArrayLike, trials: ArrayLike, *, excluded: Mapping[str, int] = _NONE_EXCLUDED) -> Rate:
    """The rate over prompts that were each asked several times; both arrays have one entry a prompt.

    Wilson's interval at the effective number of trials, p(1 − p) / v, with the linearised variance v of a ratio of
    cluster totals and t instead of z for few clusters (Korn & Graubard 1998; Dean & Pagano 2015). Where every trial
    ended alike, repeats may be copies of one another for all that is known: each prompt counts once.
    """
    won, asked = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.int64)
    won, asked = won[asked > 0], asked[asked > 0]
    total, count = float(won.sum()), int(asked.sum())
    interval = None
    if count:
        effective = _effective_trials(won, asked)
        interval = wilson(total / count * effective, effective)
    return _with(int(total) if total.is_integer() else total, count, excluded, interval, "wilson-clustered")


def wilson(successes: float, trials: float, *, level: float = 0.95) -> Interval:
    """Wilson's score interval (Wilson 1927); trials > 0, and neither count need be whole."""
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    p = successes / trials
    centre = p + z * z / (2.0 * trials)
    margin = z * sqrt(max(0.0, p * (1.0 - p)) / trials + (z / (2.0 * trials)) ** 2)
    scale = 1.0 + z * z / trials
    return Interval(max(0.0, min(p, (centre - margin) / scale)), min(1.0, max(p, (centre + margin) / scale)), level)


def _with(
    numerator: int | float, denominator: int, excluded: Mapping[str, int], interval: Interval | None, method: str
) -> Rate:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Rate(numerator, denominator, dict(excluded), low, high, method)


def _effective_trials(won: np.ndarray, asked: np.ndarray) -> float:
    from scipy.special import stdtrit  # scipy.stats, which has it ready, takes 45 MB of every worker

    clusters, count = asked.size, float(asked.sum())
    p = float(won.sum()) / count
    residuals = won - p * asked
    if clusters < 2 or not 0.0 < p < 1.0:
        return float(clusters)
    variance = clusters / (clusters - 1.0) * float((residuals**2).sum()) / count**2
    few = NormalDist().inv_cdf(0.975) / float(stdtrit(clusters - 1, 0.975))
    return min(count, p * (1.0 - p) / variance * few**2 if variance > 0.0 else count)
