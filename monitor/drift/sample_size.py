"""How many answers a question needs."""

from __future__ import annotations

from math import ceil, log, log1p, sqrt
from statistics import NormalDist


def per_arm(share: float, worse: float, *, alpha: float = 0.01, power: float = 0.9) -> int:
    """Independent answers on each side that show a success rate fallen from `share` to `worse`, one-sided.

    The normal approximation with the pooled variance under the null (Fleiss, Levin & Paik 2003, §4.2, without the
    correction for continuity, which Boschloo's test does not need).
    """
    z_alpha, z_beta = NormalDist().inv_cdf(1.0 - alpha), NormalDist().inv_cdf(power)
    pooled = (share + worse) / 2.0
    null = z_alpha * sqrt(2.0 * pooled * (1.0 - pooled))
    other = z_beta * sqrt(share * (1.0 - share) + worse * (1.0 - worse))
    return ceil(((null + other) / (share - worse)) ** 2)


def until_seen(share: float, *, chance: float = 0.95) -> int:
    """Answers after which something that this share of them show has been seen at least once, with that chance."""
    return ceil(log1p(-chance) / log1p(-share)) if share < 1.0 else 1


def until_bounded(quantile: float, *, confidence: float = 0.95) -> int:
    """Values after which the largest is an upper bound of the quantile, with that confidence: p95 needs 59, p99 299."""
    return ceil(log1p(-confidence) / log(quantile))
