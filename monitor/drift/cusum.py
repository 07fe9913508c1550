"""A CUSUM to draw: it promises a run length only, and alarms nobody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

# A single run counts no more, however odd it was.
_LARGEST_Z = 4.0
_NODES = 80


@dataclass(frozen=True, slots=True)
class Cusum:
    """Page's two-sided sum of standardised light runs, less `slack` each: the shift, halved, that it is tuned to."""

    slack: float = 0.5
    up: float = 0.0
    down: float = 0.0

    @property
    def value(self) -> float:
        """To be held against `cusum_threshold`."""
        return max(self.up, self.down)

    def after(self, z: float) -> Self:
        bounded = min(_LARGEST_Z, max(-_LARGEST_Z, z))
        return replace(
            self, up=max(0.0, self.up + bounded - self.slack), down=max(0.0, self.down - bounded - self.slack)
        )


@lru_cache(maxsize=32)
def cusum_threshold(runs: int, *, slack: float = 0.5) -> float:
    """The threshold that an unchanged endpoint's `Cusum` crosses once in `runs` runs on average, z being normal.

    A year of hourly runs is 8,766. Either side has to last twice as long.
    """
    low, high = 0.0, 40.0
    while high - low > 1e-6:
        middle = (low + high) / 2.0
        if _run_length(middle, slack) < 2.0 * runs:
            low = middle
        else:
            high = middle
    return high


def _run_length(threshold: float, slack: float) -> float:
    """Mean runs until a one-sided CUSUM from 0 passes the threshold, by Page's integral equation (Page 1954):
    L(u) = 1 + L(0) Φ(k − u) + ∫₀ʰ L(x) φ(x + k − u) dx, on Gauss–Legendre nodes."""
    from scipy.special import ndtr

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    places = np.concatenate([[0.0], (nodes + 1.0) * threshold / 2.0])
    density = np.exp(-((places[1:] + slack - places[:, np.newaxis]) ** 2) / 2.0) / np.sqrt(2.0 * np.pi)
    moves = np.column_stack([ndtr(slack - places), density * weights * threshold / 2.0])
    return float(np.linalg.solve(np.eye(places.size) - moves, np.ones(places.size))[0])


def standardised(difference: float, p: float) -> float:
    """A run's two-sided p as a standard normal value, with the sign of its difference."""
    from scipy.special import ndtri

    return float(np.copysign(ndtri(1.0 - p / 2.0), difference))
