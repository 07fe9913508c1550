"""Has the time to the first token moved, at the same hour and for prompts of the same size?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from statistics import NormalDist

import numpy as np

from monitor.drift.interval import Interval
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import SMALLEST_P

# Many streams make any shift significant; one of less than this is no matter.
LEAST_SHIFT = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Hour:
    """Seconds to the first token of one size bucket at one hour of the day, in the baseline window and in the new run.

    Streams of one run share its load: give one value a run (its median) where the baseline is of several days.
    """

    baseline: FloatArray
    new: FloatArray


@dataclass(frozen=True, slots=True)
class LatencyShift:
    """shift: the new times' excess over the baseline's, as a share of them (0.2: a fifth slower), with its interval;
    p: two-sided."""

    p: float
    shift: float
    interval: Interval
    n: int

    @property
    def is_far(self) -> bool:
        """Slower by more than a fifth, or as much faster."""
        return _is_beyond(self.shift)

    @property
    def is_within(self) -> bool:
        """Whether not even an end of the interval is as far."""
        return not (_is_beyond(self.interval.low) or _is_beyond(self.interval.high))

    def moved(self, alpha: float) -> bool:
        return self.p < alpha and self.is_far


def latency_shift(hours: Sequence[Hour], *, level: float = 0.95) -> LatencyShift | None:
    """Mann–Whitney's test of log seconds within each hour, combined with van Elteren's weights 1 / (N + 1). The shift
    is the one that puts the statistic at its null mean (Hodges & Lehmann 1963): a weighted median of all differences
    within an hour.

    None where no hour has both windows. The normal approximation is used; far out it says too little rather than too
    much, since ranks are bounded.
    """
    kept = [hour for hour in hours if hour.baseline.size and hour.new.size]
    if not kept:
        return None
    if min(float(side.min()) for hour in kept for side in (hour.baseline, hour.new)) <= 0.0:
        raise ValueError("a time to the first token is above 0")
    differences = np.concatenate([np.subtract.outer(np.log(h.new), np.log(h.baseline)).ravel() for h in kept])
    weights = np.concatenate([np.full(h.new.size * h.baseline.size, _weight(h)) for h in kept])
    half = float(weights.sum()) / 2.0
    error = float(np.sqrt(sum(_weight(hour) ** 2 * _variance(hour) for hour in kept)))
    above = float(weights @ (np.sign(differences) + 1.0)) / 2.0
    order = np.argsort(differences, kind="stable")
    ordered, reached = differences[order], np.cumsum(weights[order])

    def ratio(weight: float) -> float:
        return float(np.expm1(ordered[min(ordered.size - 1, int(np.searchsorted(reached, weight)))]))

    margin = NormalDist().inv_cdf((1.0 + level) / 2.0) * error
    p = max(SMALLEST_P, 2.0 * NormalDist().cdf(-abs(above - half) / error)) if error > 0.0 else 1.0
    interval = Interval(ratio(half - margin), ratio(half + margin), level)
    return LatencyShift(p, ratio(half), interval, sum(hour.new.size for hour in kept))


def _is_beyond(shift: float) -> bool:
    return abs(log1p(shift)) > log1p(LEAST_SHIFT)


def _weight(hour: Hour) -> float:
    return 1.0 / (hour.baseline.size + hour.new.size + 1.0)


def _variance(hour: Hour) -> float:
    """Null variance of the number of pairs in which the new time is the longer one, less what ties take from it."""
    both = np.concatenate([hour.baseline, hour.new])
    ties = np.unique(both, return_counts=True)[1].astype(np.float64)
    lost = float((ties**3 - ties).sum()) / (both.size * (both.size - 1.0))
    return hour.baseline.size * hour.new.size / 12.0 * (both.size + 1.0 - lost)
