"""Token-DiFR (Karvonen et al., 2025) at temperature 0: how far each token that an endpoint gave is below the one that
the reference would have given, teacher-forced; and the tokens that a test of the rate of mismatches needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLIP = 0.5


def clipped(margins: Floats, clip: float = CLIP) -> Floats:
    """d = min(clip, log p(most likely) - log p(given)), in nats, of the tokens that are there."""
    return np.minimum(margins[~np.isnan(margins)], clip)


def mismatch_rate(margins: Floats) -> float:
    """The share of tokens that the reference would not have given."""
    return float((margins[~np.isnan(margins)] > 0).mean())


def tokens_needed(rate: float, lawful: float, nats: float) -> float:
    """nats / KL(rate ‖ lawful): tokens until a test of one rate of mismatches against another has so much evidence on
    average; ∞ where the rate is no higher than the lawful one."""
    if rate <= lawful:
        return float("inf")
    kept = 0.0 if rate == 1 else (1 - rate) * np.log((1 - rate) / (1 - lawful))
    return float(nats / (rate * np.log(rate / lawful) + kept))
