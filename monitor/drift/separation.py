"""Two stacks behind one prompt where one would do? An e-value that no lawful noise wins on average.

Two answers of one stack, given within one block of time, differ along any axis by an amount whose density falls from 0
outwards: the difference of two draws from one unimodal law has its only mode at 0 (Hodges & Lehmann 1954, "Matching in
paired comparisons"), however heavy its tails, whatever is added to the whole block and however much noisier than others
the block is. Answers of two stacks differ by a step, and leave a gap below it. So the axis and an alternative density q
are learned from one half of the answers, and pairs of the other half are bet on with q / p*, where p* is the falling
density that is nearest to q: it has mean at most 1 under every falling density (Grünwald, de Heide & Koolen 2024,
"Safe testing", Theorem 1), whatever came before. The half-sample is split likelihood's (Wasserman, Ramdas &
Balakrishnan 2020); the null is all falling densities, so that none has to be fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray

# Of a normal law, its standard deviation over the median of its magnitudes.
_NORMAL = 1.4826
# What printing rounds log-probabilities to, in nats: no noise is smaller.
_ROUNDING = 1e-4
# A cluster that has a smaller share of the answers is not looked for: heavy tails would make one.
LEAST_SHARE = 0.05
_FEWEST = 4
_TAILS = 5.0
_BINS = 96
_EVEN = 0.05
_SHUFFLES = 4
_REFINED = 2
# Of an axis, what an answer's tokens have to show for it to have a place on it.
_SEEN = 0.5


@dataclass(frozen=True, slots=True)
class Scatter:
    """Standard deviations of an answer around its stack, in nats: `own` of each token alone, `common` of all."""

    own: float
    common: float

    @classmethod
    def of(cls, residuals: FloatArray, noise: float) -> Self:
        """By medians, and no smaller together than `noise`; residuals [answers, tokens], NaN where missing."""
        least = max(noise, _ROUNDING)
        seen = np.isfinite(residuals).sum(axis=1)
        rows = residuals[seen > 1]
        if not rows.size:
            return cls(least, 0.0)
        seen = seen[seen > 1]
        means = np.nanmean(rows, axis=1)
        alone = np.abs(rows - means[:, np.newaxis]) * np.sqrt(seen / (seen - 1.0))[:, np.newaxis]
        own = _NORMAL * _median(alone)
        square = (_NORMAL * float(np.median(np.abs(means)))) ** 2 - own**2 / float(seen.mean())
        common = float(np.sqrt(max(0.0, square)))
        whole = float(np.hypot(own, common))
        if whole >= least and own >= least / 10.0:
            return cls(own, common)
        return cls(max(own, float(np.sqrt(max(0.0, least**2 - common**2))), least / 10.0), common)

    def squared(self, residuals: FloatArray) -> FloatArray:
        """Mahalanobis' squared length along the last axis over the tokens that are there (Sherman & Morrison 1950)."""
        seen = np.isfinite(residuals)
        there = np.where(seen, residuals, 0.0)
        held = self.common**2 / (self.own**2 + seen.sum(axis=-1) * self.common**2)
        return np.asarray(((there**2).sum(axis=-1) - held * there.sum(axis=-1) ** 2) / self.own**2)

    def whitened(self, step: FloatArray) -> FloatArray:
        """The inverse covariance times `step`, shape [tokens]: Fisher's axis."""
        held = self.common**2 / (self.own**2 + step.size * self.common**2)
        return np.asarray((step - held * step.sum()) / self.own**2)


@dataclass(frozen=True, eq=False)
class Split:
    """Two stacks' places along one axis: `middle` between them, `step` from the first to the second, in nats, shape
    [tokens]. scale: of a score within a stack, in steps; share: of answers beyond the middle."""

    axis: FloatArray
    middle: FloatArray
    step: FloatArray
    scale: float
    share: float

    def scores(self, values: FloatArray) -> FloatArray:
        """−½ at the first stack, ½ at the second; NaN where too few of the axis' tokens are there."""
        weights = self.axis * self.step
        there = np.where(np.isfinite(values), values - self.middle, 0.0) @ self.axis
        reach = np.isfinite(values) @ weights
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(reach >= _SEEN * weights.sum(), there / reach, np.nan)

    @property
    def gap(self) -> float:
        """Mean |Δ| a token that both stacks return, in nats."""
        return float(np.abs(self.step[self.step != 0.0]).mean())

    @cached_property
    def factors(self) -> FloatArray:
        """q / p* on bins of equal width over [0, `reach`)."""
        from scipy.optimize import isotonic_regression

        at = (np.arange(_BINS) + 0.5) * self.reach / _BINS
        tau = np.sqrt(2.0) * self.scale
        cross = 2.0 * self.share * (1.0 - self.share)
        q = (1.0 - cross) * 2.0 * _bump(at / tau) + cross * (_bump((at - 1.0) / tau) + _bump((at + 1.0) / tau))
        q = (1.0 - _EVEN) * q / q.sum() + _EVEN / _BINS
        # The slopes of the least concave majorant of its sum.
        return np.asarray(q / isotonic_regression(q, increasing=False).x)

    @property
    def reach(self) -> float:
        return 1.0 + max(1.0, 5.0 * self.scale)

    def logs(self, differences: FloatArray) -> FloatArray:
        """Of each difference of two scores, the logarithm of its factor; what is beyond the reach, or missing, counts
        nothing: the mean over [0, θ] stays at most 1 for each θ."""
        place = np.abs(differences) * (_BINS / self.reach)
        there = place < _BINS
        found = np.zeros(place.shape)
        found[there] = np.log(self.factors[place[there].astype(np.int64)])
        return found


def _median(values: FloatArray) -> float:
    """Of what is there; where nothing is missing, the faster way to it."""
    return float(np.median(values) if np.isfinite(values).all() else np.nanmedian(values))


def _bump(u: FloatArray) -> FloatArray:
    return np.asarray((1.0 + u * u / _TAILS) ** (-(_TAILS + 1.0) / 2.0))


def fitted(values: FloatArray, block: IntArray, noise: float) -> Split | None:
    """The best of a few splits of the answers into two; None of fewer than four. Shapes [answers, tokens], [answers].

    Axes are the principal ones of the scatter within blocks, with and without what all tokens have in common; each is
    turned to Fisher's.
    """
    if len(values) < _FEWEST:
        return None
    near = np.where(np.isfinite(values), values - _mean(values), 0.0)
    pairs = [near_pairs(block, lag) for lag in (1, 2)]
    best, most = None, -np.inf
    for axis in _axes(near, block):
        one = _refined(values, halved(near @ axis), noise)
        if one is None:
            continue
        scores = one.scores(values)
        growth = sum(float(one.logs(scores[i] - scores[j]).sum()) for i, j in pairs)
        if growth > most:
            best, most = one, growth
    return best


def _axes(near: FloatArray, block: IntArray) -> Iterator[FloatArray]:
    _, cell, size = np.unique(block, return_inverse=True, return_counts=True)
    means = np.zeros((size.size, near.shape[1]))
    np.add.at(means, cell, near)
    within = near - (means / size[:, np.newaxis])[cell]
    yield from np.linalg.svd(within, full_matrices=False)[2][:2]
    if near.shape[1] > 2:
        yield np.linalg.svd(within - within.mean(axis=1, keepdims=True), full_matrices=False)[2][0]


def halved(places: FloatArray) -> np.ndarray:
    """Which of the places on a line are of the upper of two clusters: the exact 2-means (Fisher 1958)."""
    n = places.size
    least = max(2 if n >= 8 else 1, int(LEAST_SHARE * n))
    order = np.argsort(places, kind="stable")
    ordered = places[order] - places.mean()
    below = np.arange(least, n - least + 1)
    sums = np.cumsum(ordered)[below - 1]
    cut = below[int(np.argmax(sums**2 / below + sums**2 / (n - below)))]
    upper = np.zeros(n, dtype=bool)
    upper[order[cut:]] = True
    return upper


def _refined(values: FloatArray, upper: np.ndarray, noise: float) -> Split | None:
    found = None
    for _ in range(_REFINED):
        found = _split(values, upper, noise)
        if found is None:
            return None
        scores = found.scores(values)
        placed = np.isfinite(scores)
        if placed.sum() < _FEWEST:
            return None
        upper = np.where(placed, scores > 0.0, upper)
    return found


def _split(values: FloatArray, upper: np.ndarray, noise: float) -> Split | None:
    if upper.all() or not upper.any():
        return None
    with np.errstate(invalid="ignore"):
        first, second = (_mean(values[side]) for side in (~upper, upper))
    known = np.isfinite(first) & np.isfinite(second)
    if not known.any():
        return None
    step = np.where(known, second - first, 0.0)
    middle = np.where(known, (first + second) / 2.0, 0.0)
    scatter = Scatter.of(np.where(known, values - np.where(upper[:, np.newaxis], second, first), np.nan), noise)
    axis = np.where(known, scatter.whitened(step), 0.0)
    length = float(axis @ step)
    if length <= 0.0:
        return None
    draft = Split(axis, middle, step, 1.0, float(upper.mean()))
    scores = draft.scores(values) - np.where(upper, 0.5, -0.5)
    spread = _NORMAL * float(np.nanmedian(np.abs(scores))) if np.isfinite(scores).any() else 0.0
    return Split(axis, middle, step, max(spread, 1.0 / np.sqrt(length), 1e-3), draft.share)


def _mean(values: FloatArray) -> FloatArray:
    seen = np.isfinite(values)
    return np.asarray(np.where(seen, values, 0.0).sum(axis=0) / np.where(seen.any(axis=0), seen.sum(axis=0), np.nan))


def near_pairs(block: IntArray, lag: int) -> tuple[IntArray, IntArray]:
    """Answers `lag` apart of one block, in the order of blocks."""
    order = np.argsort(block, kind="stable")
    same = block[order[:-lag]] == block[order[lag:]]
    return order[:-lag][same], order[lag:][same]


def _halves(block: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Disjoint pairs within blocks, at random, shape [2, pairs], and to which half each goes."""
    shuffled = rng.permutation(block.size)
    order = shuffled[np.argsort(block[shuffled], kind="stable")]
    cell = block[order]
    start = np.concatenate([[True], cell[1:] != cell[:-1]])
    rank = np.arange(cell.size) - np.maximum.accumulate(np.where(start, np.arange(cell.size), 0))
    first = np.flatnonzero((rank[:-1] % 2 == 0) & ~start[1:])
    pairs = np.stack([order[first], order[first + 1]])
    return pairs, rng.permutation(first.size) % 2


def log_e(values: FloatArray, block: IntArray, noise: float, *, seed: int = 0) -> float:
    """The logarithm of the e-value of "two stacks" against "one" from answers to one prompt; shapes [answers, tokens]
    (nats, NaN where missing) and [answers]. It is the mean over several random halves, each the other's teacher once.
    """
    rng = np.random.default_rng(seed)
    logs = []
    for _ in range(_SHUFFLES):
        pairs, half = _halves(block, rng)
        for side in (0, 1):
            learned = pairs[:, half == side].ravel()
            split = fitted(values[learned], block[learned], noise)
            if split is None:
                logs.append(0.0)
                continue
            one, other = (split.scores(values[places]) for places in pairs[:, half != side])
            logs.append(float(split.logs(one - other).sum()))
    return float(np.logaddexp.reduce(logs) - np.log(len(logs)))
