"""The smallest shift a run would have caught: simulated on the run's own answers, so it knows their noise."""

from __future__ import annotations

from math import comb, log

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.relabelling import Standardised
from monitor.drift.shift import Prepared
from monitor.drift.trials import Trials

# Shifts tried, in nats (mean |Δ| per token): from below any engine's rounding to beyond a change of model.
_LADDER = np.geomspace(0.005, 1.28, 17)
_RELABELLINGS = 800
# Below it, a Pearson III curve is a normal one to the last digits.
_NO_SKEW = 1.6e-5
# A power of 90 %.
_TRIALS, _MAY_MISS = 30, 3


def detectable_shift(prepared: Prepared, alpha: float, target: int | None, *, seed: int = 0) -> float:
    """The smallest mean |Δ| in nats that this run would have called at level alpha with 90 % power; inf if none.

    target: index of the candidate along whose step the shift is laid (what int8 would make); random directions where
    it is None, of single-use answers only where there is no candidate but the reference. p-values inside the
    simulation are tails of a fitted Pearson III curve (only power is read off them),
    never below what the number of distinct relabellings allows.
    """
    if not prepared.anchors and target is None:
        return float("inf")  # single-use answers are moved along a known step alone
    if _fewest(prepared) > alpha:
        return float("inf")
    trials = Trials.of(prepared, target, _TRIALS, np.random.default_rng(seed))
    low, high = 0, len(_LADDER)
    while low < high:
        middle = (low + high) // 2
        # The same relabellings for every size, but other numbers than the trials were drawn from.
        tested = trials.tested(float(_LADDER[middle]), _RELABELLINGS, np.random.default_rng((seed, 1)))
        if np.count_nonzero(_tails(tested) > alpha) <= _MAY_MISS:
            high = middle
        else:
            low = middle + 1
    return float(_LADDER[low]) if low < len(_LADDER) else float("inf")


def _tails(tested: Standardised) -> FloatArray:
    """Of each trial, the upper tail of a Pearson III curve with its relabellings' first three moments."""
    from scipy import special  # half of what a command waits for before it starts

    mean = tested.relabelled.mean(axis=0)
    moved = tested.relabelled - mean
    squares = moved * moved
    deviation = np.sqrt(squares.mean(axis=0))
    still = deviation < 1e-12
    deviation = np.where(still, 1.0, deviation)
    skew = (squares * moved).mean(axis=0) / deviation**3
    units = (tested.observed - mean) / deviation
    # A gamma curve of this shape, moved and, for a negative skew, mirrored.
    skewed = np.where(np.abs(skew) < _NO_SKEW, 1.0, skew)
    shape = 4.0 / skewed**2
    place = np.maximum(0.0, shape + units * 2.0 / skewed)
    curved = np.where(skewed > 0.0, special.gammaincc(shape, place), special.gammainc(shape, place))
    tails = np.where(np.abs(skew) < _NO_SKEW, special.ndtr(-units), curved)
    return np.where(still, 1.0, tails)


def _fewest(prepared: Prepared) -> float:
    """One over the number of distinct relabellings: no p-value can be smaller."""
    log_count = sum(_log_splits(aligned.new) for aligned in prepared.anchors)
    if prepared.singles:
        log_count += _log_splits(np.array([single.new for single in prepared.singles]))
    return float(np.exp(-log_count))


def _log_splits(new: np.ndarray) -> float:
    return log(comb(new.size, int(new.sum())))
