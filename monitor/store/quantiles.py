"""Quantiles of the points that a rollup adds up, exact for an hour, a day and any of them together.

A rollup keeps the values themselves and no sketch of them: an hour has a handful and a day some hundred, eight bytes
each, which is what a sketch of 1 % error takes as well; they are put together by writing them one behind the other.
"""

from __future__ import annotations

import struct
from enum import StrEnum


class Agg(StrEnum):
    """How a step of a series is summed up: by its mean, or by a quantile of its points."""

    MEAN = "mean"
    P50 = "p50"
    P95 = "p95"
    P99 = "p99"


_PARTS = {Agg.P50: 0.50, Agg.P95: 0.95, Agg.P99: 0.99}
# As PostgreSQL's float8send writes them.
_VALUE = struct.Struct(">d")


def packed(value: float) -> bytes:
    return _VALUE.pack(value)


def quantile(values: bytes, agg: Agg) -> float:
    """Of packed values, at least one; between two of them by the straight line (NumPy's `linear`)."""
    ordered: list[float] = sorted(value for (value,) in _VALUE.iter_unpack(values))
    place = _PARTS[agg] * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    # Two terms, so that a part of 0 takes nothing of its neighbour, however large that is.
    part = place - below
    return ordered[below] * (1 - part) + ordered[above] * part
