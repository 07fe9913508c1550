"""A shift in nats in words: how many times what a profile would make, and between which two.

The marks are profiles' distances from what the endpoint may run, computed offline by the reference on the same prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from monitor.drift.interval import Interval

# What people call the engine's profiles; others go by their own names.
CALLED = {
    "w8-channel": "int8",
    "w8-tensor": "int8 with one scale",
    "w8a8": "int8 weights and activations",
    "w4-g64": "int4",
    "fp8-e4m3": "fp8",
    "fp32-kv-fp8": "an fp8 KV cache",
    "fp32-kv-int8": "an int8 KV cache",
}
UNIT = "w8-channel"
# What a profile's distance on other prompts differs by, as a share of it.
_SPREAD = 0.2


@dataclass(frozen=True, slots=True)
class Reading:
    """`times` is the shift over what `unit` would make, with its interval; None where it is not to be told from noise.
    `low` and `high` are the marks it lies between, None beyond the ends."""

    text: str
    unit: str
    times: float | None = None
    interval: Interval | None = None
    low: str | None = None
    high: str | None = None


def called(profile: str) -> str:
    return CALLED.get(profile, profile)


def read(
    shift: float, interval: Interval | None, distances: Mapping[str, float], *, lawful: float, unit: str = UNIT
) -> Reading:
    """shift and interval: the size of a move; distances: of profiles, on the same prompts; lawful: the largest shift
    that is noise; all in nats. Raises ValueError for a distance that is not above 0, or without that of `unit`.

    The interval is that of the shift alone: the distances are taken as known.
    """
    if unit not in distances or not all(0.0 < distance < np.inf for distance in distances.values()):
        raise ValueError(f"a ruler needs distances above 0 nats, that of {unit} among them: {dict(distances)}")
    if interval is None or not np.isfinite([shift, interval.low, interval.high]).all():
        return Reading("the size of the shift is not known", unit)
    mark = distances[unit]
    if interval.low <= lawful:
        return Reading(
            f"below noise: nothing, or up to {_number(interval.high / mark)} times what {called(unit)} would make", unit
        )
    times = shift / mark
    ends = Interval(interval.low / mark, interval.high / mark, interval.level)
    low, high = _neighbours(shift, distances)
    size = f"about {_number(times)} times what {called(unit)} would make ({_number(ends.low)} to {_number(ends.high)})"
    return Reading(f"{size}; {_place(interval, distances, low, high)}", unit, times, ends, low, high)


def size_odds(shift: float, error: float, distances: Mapping[str, float]) -> dict[str, float]:
    """Log-odds of each profile from the size of a shift alone, for `attribute`: normal around the profile's distance,
    with the shift's standard error and a fifth of the distance, as it is other on other prompts. Their mean odds are 1:
    a size speaks for one profile against another, not for profiles."""
    if (
        not np.isfinite(shift)
        or not error >= 0.0
        or not all(0.0 < distance < np.inf for distance in distances.values())
    ):
        raise ValueError(f"sizes need a finite shift ({shift}), an error of at least 0 ({error}) and distances above 0")
    names = sorted(distances)
    marks = np.array([distances[name] for name in names])
    spread = np.hypot(error, _SPREAD * marks)
    logs = -0.5 * ((shift - marks) / spread) ** 2 - np.log(spread)
    mean = np.logaddexp.reduce(logs) - np.log(len(names)) if names else 0.0
    return dict(zip(names, (logs - mean).tolist(), strict=True))


def _neighbours(shift: float, distances: Mapping[str, float]) -> tuple[str | None, str | None]:
    below = [name for name in _ordered(distances) if distances[name] <= shift]
    above = [name for name in _ordered(distances) if distances[name] > shift]
    return (below[-1] if below else None), (above[0] if above else None)


def _ordered(distances: Mapping[str, float]) -> list[str]:
    return sorted(distances, key=lambda name: (distances[name], name))


def _place(interval: Interval, distances: Mapping[str, float], low: str | None, high: str | None) -> str:
    within = [name for name in _ordered(distances) if interval.low <= distances[name] <= interval.high]
    if within:
        return f"not to be told from what {' or '.join(map(called, within))} would make"
    if low is None or high is None:
        return f"less than what {called(high)} would make" if high else f"more than what {called(low or '')} would make"
    return f"between what {called(low)} and {called(high)} would make"


def _number(value: float) -> str:
    """Two significant digits, without an exponent."""
    digits = 0 if value >= 9.95 else 1 if value >= 0.95 else 2
    return f"{value:.{digits}f}"
