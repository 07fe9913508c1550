"""Pass, fail or inconclusive: an interval of the difference to the reference against the margin that is no matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from types import MappingProxyType

import numpy as np

from monitor.drift.interval import Interval
from monitor.drift.observation import FloatArray
from monitor.drift.rates import wilson
from monitor.drift.rule import DRIFT_P, SUSPECT_P, Verdict
from monitor.drift.trigger import Paired

_RESAMPLES = 2_000
_BLOCK = 500
# With fewer prompts that differ, resampling them knows too little of how many there might be.
FEW_DIFFER = 10


@dataclass(frozen=True, slots=True)
class Margin:
    """A difference of less than `width` is no matter; one-sided where more is never worse."""

    width: float
    one_sided: bool = True


DEFAULT_MARGINS: Mapping[str, Margin] = MappingProxyType(
    {
        "trigger_rate": Margin(0.03, one_sided=False),
        "schema_ok": Margin(0.01),
        "conformance_ok": Margin(0.005),
        "value_ok": Margin(0.03),
        "loop_pass": Margin(0.08),
    }
)


class Outcome(StrEnum):
    PASS = "pass"  # noqa: S105  a word, no secret
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"  # more prompts would decide


@dataclass(frozen=True, slots=True)
class Difference:
    """Endpoint minus reference (or that, now minus then), and its interval."""

    value: float
    interval: Interval


def outcome(found: Difference | None, margin: Margin) -> Outcome:
    """Pass where the whole interval is within the margin, fail where all of it is beyond."""
    if found is None:
        return Outcome.INCONCLUSIVE
    interval = found.interval
    if interval.high < -margin.width or (interval.low > margin.width and not margin.one_sided):
        return Outcome.FAIL
    within = interval.low > -margin.width and (margin.one_sided or interval.high < margin.width)
    return Outcome.PASS if within else Outcome.INCONCLUSIVE


def verdict(found: Iterable[Outcome], p: float) -> Verdict:
    """What the outcomes of one family say by the one rule of a run; p is adjusted, and of what is beyond a margin.
    A failure that p does not bear out concludes nothing."""
    if p <= SUSPECT_P:
        return Verdict.DRIFT if p <= DRIFT_P else Verdict.SUSPECT
    return Verdict.OK if all(one is Outcome.PASS for one in found) else Verdict.INCONCLUSIVE


def detectable(found: Difference) -> float:
    """The difference that would have been called suspect with 90 % power, if its interval is a normal one."""
    normal = NormalDist()
    error = (found.interval.high - found.interval.low) / 2.0 / normal.inv_cdf((1.0 + found.interval.level) / 2.0)
    return error * (normal.inv_cdf(1.0 - SUSPECT_P / 2.0) + normal.inv_cdf(0.9))


def difference(paired: Paired, *, level: float = 0.95, seed: int = 0) -> Difference | None:
    """Mean of p_i − q_i weighted by answers, with the BCa interval over prompts (Efron 1987).

    Where few prompts differ at all, no resample knows of those not met, and an unbroken row of successes would have an
    interval of no width: there the gains and the losses are two shares of the prompts, and Wilson's limits of both make
    the interval (Zou & Donner 2008). Prompts count, not answers, as long as repeats may be copies of one another.
    None for fewer than two prompts.
    """
    if len(paired) < 2:
        return None
    moves, weights = paired.p - paired.q, paired.weights
    value = float(weights @ moves / weights.sum())
    if np.count_nonzero(moves) < FEW_DIFFER:
        return Difference(value, by_shares(moves, weights, level))
    replicates = _resampled(moves, weights, np.random.default_rng(seed))
    return Difference(value, bca(value, replicates, _influence(moves, weights), level=level))


def bca(value: float, replicates: FloatArray, influence: FloatArray, *, level: float = 0.95) -> Interval:
    """The bias-corrected and accelerated interval (Efron 1987): quantiles of the resampled values, moved by how far
    their median is off and by the skew of what single prompts contribute (`influence`, up to a factor)."""
    from scipy.special import ndtr, ndtri  # scipy.stats, which has it ready, takes 45 MB of every worker

    below = (np.count_nonzero(replicates < value) + np.count_nonzero(replicates <= value)) / (2.0 * replicates.size)
    bias = float(ndtri(np.clip(below, 1.0 / replicates.size, 1.0 - 1.0 / replicates.size)))
    spread = float((influence**2).sum()) ** 1.5
    acceleration = float((influence**3).sum()) / (6.0 * spread) if spread > 0.0 else 0.0
    z = bias + ndtri(np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0]))
    low, high = np.quantile(replicates, ndtr(bias + z / (1.0 - acceleration * z)))
    return Interval(float(low), float(high), level)


def _resampled(moves: FloatArray, weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    n = moves.size
    drawn = [rng.integers(0, n, size=(_BLOCK, n)) for _ in range(_RESAMPLES // _BLOCK)]
    return np.concatenate([(weights * moves)[rows].sum(axis=1) / weights[rows].sum(axis=1) for rows in drawn])


def _influence(moves: FloatArray, weights: FloatArray) -> FloatArray:
    """What leaving one prompt out takes from the weighted mean, centred."""
    total, without = weights @ moves, weights.sum() - weights
    left = (total - weights * moves) / without
    return np.asarray(left.mean() - left)


def by_shares(moves: FloatArray, weights: FloatArray, level: float) -> Interval:
    """Gains and losses as shares of the prompts, at the effective number of prompts that the weights leave."""
    prompts = float(weights.sum() ** 2 / (weights**2).sum())
    sides = [float(weights @ np.maximum(sign * moves, 0.0) / weights.sum()) for sign in (1.0, -1.0)]
    gains, losses = (Difference(side, wilson(side * prompts, prompts, level=level)) for side in sides)
    return recovered(gains, losses, level)


def recovered(one: Difference, other: Difference, level: float) -> Interval:
    """The interval of a difference from the intervals of its two parts (Zou & Donner 2008)."""
    value = one.value - other.value
    down = np.hypot(one.value - one.interval.low, other.interval.high - other.value)
    up = np.hypot(one.interval.high - one.value, other.value - other.interval.low)
    return Interval(value - float(down), value + float(up), level)
