"""Runs that had moved, many at once: shifts of a known size laid on a run's own answers, as its test would see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.relabelling import Pool, PromptTable, Standardised, splits, standardise_anchors, standardise_pool
from monitor.drift.shift import (
    MOST_COEFFICIENT,
    NO_ENERGY,
    ROUNDING,
    Aligned,
    Prepared,
    Single,
    summed,
    without_shift,
)

# Mean |step| below which a candidate is no other place to go.
_NO_STEP = 1e-9


@dataclass(frozen=True, slots=True)
class Trials:
    """`count` runs; which answers moved, and where to, is drawn once and is the same for every size."""

    anchors: tuple[AnchorTrials, ...]
    singles: SingleTrials | None
    count: int

    @classmethod
    def of(cls, prepared: Prepared, target: int | None, count: int, rng: np.random.Generator) -> Self:
        """target: index of the candidate along whose step the shift is laid; random directions where it is None."""
        anchors = tuple(AnchorTrials.of(without_shift(one), target, count, rng) for one in prepared.anchors)
        singles = SingleTrials.of(prepared.singles, target, count, rng) if prepared.singles else None
        return cls(anchors, singles, count)

    def tested(self, size: float, relabellings: int, rng: np.random.Generator) -> Standardised:
        """What each run's test would have seen of a shift of `size`; shapes [trials] and [relabellings, trials]."""
        anchors = pooled = None
        if self.anchors:
            anchors = standardise_anchors([one.table(size) for one in self.anchors], relabellings, rng)
        if self.singles is not None:
            pooled = standardise_pool(self.singles.pool(size), relabellings, rng)
        return summed(anchors and self._by_trial(anchors), pooled and self._by_trial(pooled))

    def _by_trial(self, flat: Standardised) -> Standardised:
        return Standardised(
            flat.observed.reshape(self.count, -1),
            flat.relabelled.reshape(len(flat.relabelled), self.count, -1),
        )


@dataclass(frozen=True, slots=True)
class AnchorTrials:
    """One anchor prompt in every trial. What its table holds is a polynomial in the size of the move.

    Rows are splits, in an order of each trial's own whose first split is the one that moved. `between` and `scatter`
    hold three coefficients each, shapes [3, splits, trials] and [3, trials]; `along` two, [2, splits, trials, steps].
    """

    between: FloatArray
    scatter: FloatArray
    along: FloatArray

    @classmethod
    def of(cls, still: Aligned, target: int | None, count: int, rng: np.random.Generator) -> Self:
        ways = splits(still.new.size, np.flatnonzero(still.new).tolist(), rng)
        new = ways.members.shape[1]
        old = ways.total - new
        weight = new * old / ways.total
        order = rng.permuted(np.tile(np.arange(len(ways)), (count, 1)), axis=1).T
        member = np.zeros((len(ways), ways.total))
        np.put_along_axis(member, ways.members, 1.0, axis=1)
        moved = member[order[0]]
        moves = _directions(still, target, count, rng)
        centred = still.values - still.values.mean(axis=0)
        contrast = (member - new / ways.total) * (ways.total / (new * old))
        means = contrast @ centred
        length = (moves**2).sum(axis=1)
        # How much of the move lies between the two sides of each split, and where it goes.
        share = np.take_along_axis(contrast @ moved.T, order, axis=0)
        common = np.take_along_axis(means @ moves.T, order, axis=0)
        energy = (still.steps**2).sum(axis=1)
        per_step = still.steps.T / np.where(energy > NO_ENERGY, energy, np.inf)
        return cls(
            np.array([(means**2).sum(axis=1)[order], 2.0 * share * common, share**2 * length]) * weight,
            np.array(
                [
                    np.full(count, (centred**2).sum() + ROUNDING),
                    2.0 * ((moved @ centred) * moves).sum(axis=1),
                    length * weight,
                ]
            ),
            np.array([(means @ per_step)[order], share[:, :, np.newaxis] * (moves @ per_step)]),
        )

    def table(self, size: float) -> PromptTable:
        """Statistics of every split, as of a single run, side by side for all trials."""
        powers = np.array([1.0, size, size**2])
        share = np.tensordot(powers, self.between, 1) / (powers @ self.scatter)
        along = np.clip(self.along[0] + size * self.along[1], -MOST_COEFFICIENT, MOST_COEFFICIENT)
        return PromptTable(np.concatenate([share[:, :, np.newaxis], along], axis=2).reshape(len(share), -1))


def _directions(still: Aligned, target: int | None, count: int, rng: np.random.Generator) -> FloatArray:
    """Moves of mean |Δ| 1 per token, shape [trials, tokens]."""
    directions = rng.standard_normal((count, still.values.shape[1]))
    if target is not None and float(np.abs(still.steps[target]).mean()) > _NO_STEP:
        directions[:] = still.steps[target]
    return np.asarray(directions / np.abs(directions).mean(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class SingleTrials:
    """The single-use answers in every trial: past ones, drawn again, moved where they stand for a new one.

    drawn: which of `past` stands in which place, shape [places, trials]; new: which places are the new run's; towards:
    where each of `past` goes where no step is known, of mean |Δ| 1 per token, shape [tokens].
    """

    past: tuple[Single, ...]
    drawn: np.ndarray
    new: np.ndarray
    target: int | None
    towards: tuple[FloatArray | None, ...]

    @classmethod
    def of(cls, singles: Sequence[Single], target: int | None, count: int, rng: np.random.Generator) -> Self:
        past = tuple(single for single in singles if not single.new)
        drawn = rng.integers(len(past), size=(len(singles), count))
        towards = tuple(_anywhere(single, rng) for single in past)
        return cls(past, drawn, np.array([single.new for single in singles]), target, towards)

    def pool(self, size: float) -> Pool:
        """Scores as of a single run, side by side for all trials."""
        still = np.array([single.scores() for single in self.past])
        pairs = zip(self.past, self.towards, strict=True)
        moved = np.array([self._moved(single, towards, size).scores() for single, towards in pairs])
        scores = np.where(self.new[:, np.newaxis, np.newaxis], moved[self.drawn], still[self.drawn])
        return Pool(scores.reshape(len(scores), -1), self.new)

    def _moved(self, single: Single, towards: FloatArray | None, size: float) -> Single:
        if towards is not None:
            return replace(single, residual=single.residual + size * towards)
        if self.target is None:
            return single
        step = single.steps[self.target]
        length = float(np.abs(step).mean())
        return replace(single, residual=single.residual + step * (size / length if length > _NO_STEP else 0.0))


def _anywhere(single: Single, rng: np.random.Generator) -> FloatArray | None:
    """A direction at random, of an answer that knows no candidate but its reference; None of any other."""
    if len(single.steps):
        return None
    direction = rng.standard_normal(single.residual.size)
    return np.asarray(direction / np.abs(direction).mean())
