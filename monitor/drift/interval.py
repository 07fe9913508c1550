"""An interval around a measured value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """Two-sided, at `level`, in the unit of the value it belongs to."""

    low: float
    high: float
    level: float = 0.95
