"""Exact tests by relabelling: every statistic is recomputed under random relabellings of baseline and new answers.

Two independent groups of relabellings make up the test. Within each anchor prompt the answers of all runs are
exchangeable while nothing changed; and the single-use prompts of all runs are draws from one grammar, so their scores
are exchangeable between runs. A p-value is (1 + #{T* ≥ T}) / (B + 1): it never falls below what B relabellings can show
(Phipson & Smyth 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from monitor.drift.observation import FloatArray

RELABELLINGS = 200_000
_BLOCK = 20_000
_MAX_SPLITS = 4_096
# A deviation below this is the rounding of sums: nothing moves.
_NIL = 1e-12


@dataclass(frozen=True, slots=True)
class Splits:
    """The ways to call `new` of `total` answers the new ones; rows of `members` are index sets, row 0 is the truth."""

    members: np.ndarray
    total: int

    def __len__(self) -> int:
        return int(self.members.shape[0])


def splits(total: int, new: Sequence[int], rng: np.random.Generator) -> Splits:
    """All splits of `total` answers with as many new ones as given, or a random 4,096 of them where there are more."""
    size = len(new)
    if comb(total, size) <= _MAX_SPLITS:
        return _every_split(total, tuple(new))
    drawn = np.sort(np.argsort(rng.random((_MAX_SPLITS - 1, total)), axis=1)[:, :size], axis=1)
    return Splits(np.concatenate([np.sort(np.array(new))[np.newaxis, :], drawn]), total)


@lru_cache(maxsize=256)
def _every_split(total: int, new: tuple[int, ...]) -> Splits:
    """Most prompts of a run have the same ones; nobody changes the array."""
    every = np.array(list(combinations(range(total), len(new))), dtype=np.int64)
    truth = np.all(every == np.sort(np.array(new)), axis=1)
    members = np.concatenate([every[truth], every[~truth]])
    members.flags.writeable = False
    return Splits(members, total)


@dataclass(frozen=True, slots=True)
class PromptTable:
    """One anchor prompt: each split's statistics, shape [splits, statistics]; row 0 is the observed labelling."""

    values: FloatArray


@dataclass(frozen=True, slots=True)
class Pool:
    """Single-use scores of all runs, shape [answers, statistics], and which answers are new, shape [answers]."""

    scores: FloatArray
    new: np.ndarray


@dataclass(frozen=True, slots=True)
class Standardised:
    """Observed statistics in units of their own relabelling distribution, and the same for every relabelling.

    The units (mean and standard deviation over all relabellings) do not depend on the labels, so the test stays exact.
    """

    observed: FloatArray
    relabelled: FloatArray


def standardise_anchors(tables: Sequence[PromptTable], count: int, rng: np.random.Generator) -> Standardised:
    """Sum the prompts' statistics under `count` random relabellings; shapes [statistics] and [count, statistics]."""
    width = tables[0].values.shape[1]
    mean = np.sum([table.values.mean(axis=0) for table in tables], axis=0)
    deviation = np.sqrt(np.sum([table.values.var(axis=0) for table in tables], axis=0))
    if not (deviation > _NIL).any():
        return Standardised(np.zeros(width), np.zeros((count, width)))
    sums = np.zeros((count, width))
    for table in tables:
        sums += table.values.take(rng.integers(0, len(table.values), size=count), axis=0)
    observed = np.sum([table.values[0] for table in tables], axis=0)
    return _in_units(observed, sums, mean, deviation)


def standardise_pool(pool: Pool, count: int, rng: np.random.Generator) -> Standardised:
    """New-minus-old difference of means under `count` random relabellings of the pooled single-use answers."""
    total, width = pool.scores.shape
    new = int(pool.new.sum())
    old = total - new
    deviation = pool.scores.std(axis=0, ddof=1) * np.sqrt(1.0 / new + 1.0 / old)
    grand = pool.scores.sum(axis=0)
    if not (deviation > _NIL).any():
        return Standardised(np.zeros(width), np.zeros((count, width)))

    def difference(sum_new: FloatArray) -> FloatArray:
        return np.asarray(sum_new / new - (grand - sum_new) / old)

    relabelled = np.empty((count, width))
    for begin in range(0, count, _BLOCK):
        rows = min(_BLOCK, count - begin)
        chosen = np.argpartition(rng.random((rows, total)), new - 1, axis=1)[:, :new]
        members = np.zeros((rows, total))
        np.put_along_axis(members, chosen, 1.0, axis=1)
        relabelled[begin : begin + rows] = difference(members @ pool.scores)
    observed = difference(pool.scores[pool.new].sum(axis=0))
    return _in_units(observed, relabelled, np.zeros(width), deviation)


def _in_units(observed: FloatArray, relabelled: FloatArray, mean: FloatArray, deviation: FloatArray) -> Standardised:
    moves = deviation > _NIL
    scale = np.where(moves, deviation, 1.0)
    return Standardised(
        np.where(moves, (observed - mean) / scale, 0.0),
        np.where(moves[np.newaxis, :], (relabelled - mean) / scale, 0.0),
    )


def p_value(observed: float, relabelled: FloatArray) -> float:
    """(1 + #{T* ≥ T}) / (B + 1), ties counted against the observation (to 1e-9, the summation order's rounding)."""
    as_extreme = int(np.count_nonzero(relabelled >= observed - 1e-9 * max(1.0, abs(observed))))
    return (1 + as_extreme) / (relabelled.size + 1)
