"""The naive rule that most dashboards have: alarm where a score is so many standard deviations above its baseline."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def z(scores: Floats, baseline: Floats) -> Floats:
    """(score - mean) / standard deviation of the baseline; scores [..., looks], baseline [..., values]."""
    mean = baseline.mean(axis=-1, keepdims=True)
    return np.asarray((scores - mean) / baseline.std(axis=-1, ddof=1, keepdims=True))
