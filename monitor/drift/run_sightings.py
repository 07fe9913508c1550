"""What the checks of one run saw, as sightings; None where a check says nothing, which is never "same"."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from monitor.drift.accounting import CountTest
from monitor.drift.features import Feature
from monitor.drift.shift import ShiftTest
from monitor.drift.sightings import Sighting

# Counts are exact: above this p they are the baseline's.
_MOVED_P = 1e-3
# Log-odds against what counts say, as in `causes`.
_UNLIKELY = -12.0


def of_counts(test: CountTest | None) -> Sighting | None:
    """Prompt token counts against the baseline's."""
    if test is None or test.p is None or test.moved is None:
        return None
    if test.p > _MOVED_P:
        return Sighting.certain(Feature.COUNTS, "same")
    if not test.moved:
        return Sighting.certain(Feature.COUNTS, "varying", 0.9)
    moved = "more" if test.moved > 0 else "fewer"
    if test.offset is not None:
        return Sighting.certain(Feature.COUNTS, moved if test.constant else "varying")
    # Without a tokenizer of ours, a constant and a change from prompt to prompt look alike.
    against = dict.fromkeys(("same", "more", "fewer", "two"), _UNLIKELY)
    return Sighting.of(Feature.COUNTS, against | {moved: 0.0, "varying": 0.0})


def of_shift(test: ShiftTest | None, unit: float) -> Sighting | None:
    """First tokens' shift in nats against the baseline, by what int8 would make on the same prompts (`unit`, nats).
    Raises ValueError where the unit is not above 0."""
    if not 0.0 < unit < np.inf:
        raise ValueError(f"the shift of int8 is above 0 nats, not {unit}")
    if test is None or test.interval is None or not np.isfinite(test.shift):
        return None
    reach = 2.0 * NormalDist().inv_cdf((1.0 + test.interval.level) / 2.0)
    error = (test.interval.high - test.interval.low) / reach
    return Sighting.sized(Feature.FIRST_TOKENS, test.shift / unit, max(error / unit, 1e-6))
