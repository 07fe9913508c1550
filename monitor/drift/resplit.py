"""Exact tests by re-splitting: within each prompt, both sides' answers are pooled and dealt out again.

While nothing changed, every way to deal a prompt's answers to the two sides is as likely as the one seen. A statistic
that adds up over prompts therefore has a null distribution that can be computed whole, by convolution: no p-value hangs
on a number of random re-splits, but where a single prompt may be dealt in too many ways. Statistics live on a lattice
of whole numbers; rounding them to it changes the statistic a little, and the exactness of its test not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from monitor.drift.observation import FloatArray

IntArray = NDArray[np.int64]
# Below this a tail is the rounding of the transforms that computed it.
SMALLEST_P = 1e-12
# Ways to deal one prompt's answers that are looked at one by one; and as many where a run's verdict may hang on random
# ones of a single stratum.
MOST_WAYS, RUN_LEVEL_WAYS = 20_000, 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Deals:
    """What one prompt may add to the statistic: whole numbers from 0, and the chance of each; shapes [values]."""

    values: IntArray
    chances: FloatArray


def upper_tail(observed: int, prompts: Iterable[Deals]) -> float:
    """P(sum over prompts ≥ observed), each prompt dealt anew on its own; never below `SMALLEST_P`.

    The same Deals object may stand for many prompts, which costs no more than one.
    """
    from scipy import fft  # half of what a command waits for before it starts

    repeated = Counter(prompts)
    largest = sum(int(deals.values.max()) * times for deals, times in repeated.items())
    length = fft.next_fast_len(largest + 1, real=True)
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    for deals, times in repeated.items():
        product *= fft.rfft(np.bincount(deals.values, weights=deals.chances, minlength=length)) ** times
    mass = fft.irfft(product, length)
    return float(np.clip(mass[observed : largest + 1].sum(), SMALLEST_P, 1.0))


@lru_cache(maxsize=4_096)
def hypergeometric(successes: int, r_x: int, r_y: int) -> tuple[int, FloatArray]:
    """How many of the successes among r_x + r_y answers fall to the first side: the fewest, and chances from it on."""
    from scipy.special import gammaln

    x = np.arange(max(0, successes - r_y), min(r_x, successes) + 1)
    y = successes - x
    logs = -(gammaln(x + 1) + gammaln(r_x - x + 1) + gammaln(y + 1) + gammaln(r_y - y + 1))
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    chances.flags.writeable = False
    return int(x[0]), chances


def dealt(values: IntArray, first: int) -> Deals:
    """The sum of `first` of the values, whole numbers from 0, when they fall to the first side by chance."""
    largest = int(np.sort(values)[values.size - first :].sum())
    # The chance of each number of them dealt so far, and of each sum.
    mass = np.zeros((first + 1, largest + 1))
    mass[0, 0] = 1.0
    taken = np.arange(first)[:, np.newaxis]
    for left, value in zip(range(values.size, 0, -1), values.tolist(), strict=True):
        falls = np.clip((first - taken) / left, 0.0, 1.0) * mass[:-1]
        mass[:-1] -= falls
        mass[1:, value:] += falls[:, : largest + 1 - value]
    return Deals(np.arange(largest + 1), mass[first])


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """How the answers of several kinds may fall to the first side: counts [ways, kinds], the chance of each way, and
    which row was seen."""

    counts: IntArray
    chances: FloatArray
    seen: int


def ways(x: IntArray, y: IntArray, most: int, rng: np.random.Generator) -> Ways:
    """Every way to deal x + y of each kind anew, shapes [kinds]; where there may be more than `most`, so many random
    ones, the one seen among them."""
    pooled, first = x + y, int(x.sum())
    # The last kind takes what is left, so the commonest comes last.
    order = np.argsort(pooled, kind="stable")
    if min(prod((np.minimum(pooled, first)[order[:-1]] + 1).tolist()), comb(int(pooled.sum()), first)) > most:
        drawn = rng.multivariate_hypergeometric(pooled, first, size=most - 1, method="marginals")
        return Ways(np.vstack([x, drawn]), np.full(most, 1.0 / most), 0)
    counts = _every_way(pooled[order].tolist(), first)[:, np.argsort(order)]
    return Ways(counts, _chances(counts, pooled), int(np.flatnonzero((counts == x).all(axis=1))[0]))


def _every_way(pooled: list[int], first: int) -> IntArray:
    counts, left = np.zeros((1, 0), dtype=np.int64), sum(pooled)
    for held in pooled[:-1]:
        left -= held
        share = np.arange(min(held, first) + 1)
        counts = np.column_stack([np.repeat(counts, share.size, axis=0), np.tile(share, len(counts))])
        dealt = counts.sum(axis=1)
        counts = counts[(dealt <= first) & (dealt + left >= first)]
    return np.column_stack([counts, first - counts.sum(axis=1)])


def _chances(counts: IntArray, pooled: IntArray) -> FloatArray:
    from scipy.special import gammaln

    logs = -(gammaln(counts + 1) + gammaln(pooled - counts + 1)).sum(axis=1)
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())
