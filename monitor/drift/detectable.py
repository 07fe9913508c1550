"""The smallest shift a run would have caught: simulated on the run's own answers, so it knows their noise."""

from __future__ import annotations

from dataclasses import replace
from math import comb, log

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.shift import Aligned, Evidence, Single, statistic, without_shift

# Shifts tried, in nats (mean |Δ| per token): from below any engine's rounding to beyond a change of model.
_LADDER = np.geomspace(0.005, 1.28, 17)
_RELABELLINGS = 800
# Below it, a Pearson III curve is a normal one to the last digits.
_NO_SKEW = 1.6e-5
# Of 30 trials: a power of 90 %.
_CAUGHT, _MISSED = 27, 4


def detectable_shift(evidence: Evidence, alpha: float, target: int | None, *, seed: int = 0) -> float:
    """The smallest mean |Δ| in nats that this run would have called at level alpha with 90 % power; inf if none.

    target: index of the candidate along whose step the shift is laid (what int8 would make); random directions where
    it is None. p-values inside the simulation are tails of a fitted Pearson III curve (only power is read off them),
    never below what the number of distinct relabellings allows.
    """
    if not evidence.anchors and target is None:
        return float("inf")  # single-use answers are moved along a known step alone
    still = replace(evidence, anchors=tuple(without_shift(aligned) for aligned in evidence.anchors))
    low, high = 0, len(_LADDER)
    while low < high:
        middle = (low + high) // 2
        if _catches(still, float(_LADDER[middle]), alpha, target, seed):
            high = middle
        else:
            low = middle + 1
    return float(_LADDER[low]) if low < len(_LADDER) else float("inf")


def _catches(still: Evidence, size: float, alpha: float, target: int | None, seed: int) -> bool:
    """Whether enough of the trials are caught; it tries no more of them than it takes to know."""
    rng = np.random.default_rng(seed)
    caught = missed = 0
    while caught < _CAUGHT and missed < _MISSED:
        trial = _shifted(still, size, target, rng)
        observed, relabelled = statistic(trial, _RELABELLINGS, rng)
        found = _tail(observed, relabelled) <= alpha and _fewest(trial) <= alpha
        caught, missed = caught + found, missed + (not found)
    return caught == _CAUGHT


def _shifted(still: Evidence, size: float, target: int | None, rng: np.random.Generator) -> Evidence:
    anchors = tuple(_shift_prompt(aligned, size, target, rng) for aligned in still.anchors)
    past = [single for single in still.singles if not single.new]
    singles = tuple(
        _shift_single(past[rng.integers(len(past))], size, target, new=single.new) for single in still.singles
    )
    return Evidence(anchors, singles)


def _shift_single(single: Single, size: float, target: int | None, *, new: bool) -> Single:
    """A past answer again, moved along the target's step where it stands for a new one."""
    if not new or target is None:
        return replace(single, new=new)
    step = single.steps[target]
    length = float(np.abs(step).mean())
    return replace(single, new=new, residual=single.residual + step * (size / length if length > 1e-9 else 0.0))


def _shift_prompt(aligned: Aligned, size: float, target: int | None, rng: np.random.Generator) -> Aligned:
    direction = rng.standard_normal(aligned.values.shape[1])
    if target is not None and float(np.abs(aligned.steps[target]).mean()) > 1e-9:
        direction = aligned.steps[target]
    values: FloatArray = aligned.values[rng.permutation(len(aligned.values))].copy()
    values[aligned.new] += direction * (size / float(np.abs(direction).mean()))
    return replace(aligned, values=values)


def _tail(observed: float, relabelled: FloatArray) -> float:
    """Upper tail of a Pearson III curve with the relabellings' first three moments."""
    from scipy import special  # half of what a command waits for before it starts

    moved = relabelled - relabelled.mean()
    deviation = float(np.sqrt((moved**2).mean()))
    if deviation < 1e-12:
        return 1.0
    skew = float((moved**3).mean()) / deviation**3
    units = (observed - float(relabelled.mean())) / deviation
    if abs(skew) < _NO_SKEW:
        return float(special.ndtr(-units))
    # A gamma curve of this shape, moved and, for a negative skew, mirrored.
    shape = 4.0 / skew**2
    place = max(0.0, shape + units * 2.0 / skew)
    return float(special.gammaincc(shape, place) if skew > 0.0 else special.gammainc(shape, place))


def _fewest(evidence: Evidence) -> float:
    """One over the number of distinct relabellings: no p-value can be smaller."""
    log_count = sum(_log_splits(aligned.new) for aligned in evidence.anchors)
    if evidence.singles:
        log_count += _log_splits(np.array([single.new for single in evidence.singles]))
    return float(np.exp(-log_count))


def _log_splits(new: np.ndarray) -> float:
    return log(comb(new.size, int(new.sum())))
