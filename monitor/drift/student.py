"""Quantiles of Student's t, without the libraries that a process which only shows results would load for them."""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_EXACT = 1e-15
_MOST_STEPS = 500


@lru_cache(maxsize=4096)
def t_quantile(p: float, freedom: float) -> float:
    """The t below which a share `p` in [0.5, 1) of the distribution with `freedom` degrees (> 0) lies.

    Newton's method from 0: the upper tail is convex there, so that no step goes beyond the root.
    """
    tail, t = 1.0 - p, 0.0
    for _ in range(_MOST_STEPS):
        step = (_upper_tail(t, freedom) - tail) / _density(t, freedom)
        t += step
        if step <= 1e-14 * t:
            return t
    return t


def _density(t: float, freedom: float) -> float:
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    return math.exp(log_scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))


def _upper_tail(t: float, freedom: float) -> float:
    return 0.5 * _incomplete_beta(freedom / (freedom + t * t), t * t / (freedom + t * t), freedom / 2, 0.5)


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """Regularised, at `x` = 1 - `rest`, which has the digits that 1 - x would lose (NIST DLMF 8.17.22)."""
    if rest == 0.0:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    # The fraction converges fast below the mean, and the other tail has it there.
    if x <= (a + 1) / (a + b + 2):
        return math.exp(log_front) * _fraction(x, a, b) / a
    return 1.0 - math.exp(log_front) * _fraction(rest, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Lentz's evaluation of the continued fraction."""
    c, d = 1.0, _inverse(1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = _inverse(1.0 + term * d)
            c = 1.0 + term / c
            value *= d * c
        if abs(d * c - 1.0) < _EXACT:
            break
    return value


def _inverse(value: float) -> float:
    return 1.0 / (value if abs(value) > _TINY else _TINY)
