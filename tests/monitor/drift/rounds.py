"""Rounds of made-up endpoints."""

from __future__ import annotations

import numpy as np

from monitor.drift.levels import DAY
from monitor.drift.score_stream import Round


def days_of(
    rng: np.random.Generator, days: int, *, first: int = 20_000, asked: int = 10, moved: float = 0.0
) -> list[Round]:
    """Hourly rounds: each day has a rate of its own, of which so much is left after `moved` became certain."""
    rates = rng.beta(4.0, 36.0, days)
    rates = rates + moved * (1.0 - rates)
    return [
        Round((first + day) * DAY + hour * 3_600.0, float(rng.binomial(asked, rates[day]) / asked))
        for day in range(days)
        for hour in range(24)
    ]
