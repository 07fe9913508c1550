"""A rival that looks as often as we do: its threshold tuned to a rate of false alarms an epoch, and its delay then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = -1


def threshold(nulls: Floats, alpha: float) -> float:
    """The value that a statistic exceeds at any look in at most `alpha` of the epochs [epochs, looks] with nothing
    changed; ∞ where there are too few epochs to tell."""
    highest = np.sort(nulls.max(axis=1))
    allowed = int(np.floor(alpha * (len(highest) + 1)))
    return float("inf") if allowed < 1 else float(highest[-allowed])


def delays(paths: Floats, limit: float) -> Ints:
    """The first look above `limit` of each path [paths, looks], counted from 1; `NEVER` where none is."""
    above = paths > limit
    return np.where(above.any(axis=1), above.argmax(axis=1) + 1, NEVER)


def auc(unchanged: Floats, changed: Floats) -> float:
    """The chance that a changed score is above an unchanged one, ties counted half."""
    order = np.sort(unchanged)
    below = np.searchsorted(order, changed, side="left") + np.searchsorted(order, changed, side="right")
    return float(below.mean() / (2 * len(order)))
