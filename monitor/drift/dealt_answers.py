"""Both sides' answers to the same prompts, dealt out anew within each prompt.

While the endpoint draws as the reference does, a prompt's answers could change places between the sides: every way to
deal them is as likely as the one seen. Answers to different prompts could not, whoever gave them; a test that dealt
them across prompts would be another one. p is (1 + #{T* ≥ T}) / (1 + B) of B random deals, exact for every B
(Phipson & Smyth 2010).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.relabelling import p_value
from monitor.drift.resplit import IntArray

NOWHERE = -1
# Labels of a block of deals: 40 MB.
_AT_ONCE = 5_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """The prompts that both sides answered, a row each.

    places: of a prompt's answers among the endpoint's followed by the reference's, in this order; `NOWHERE` past the
        last, [prompts, width].
    here, there: how many are the endpoint's and the reference's; [prompts].
    """

    places: IntArray
    here: IntArray
    there: IntArray

    @classmethod
    def of(cls, endpoint: IntArray, reference: IntArray) -> Self:
        """Of which prompt each answer is, [answers] of each side. Raises ValueError where they share none."""
        prompts = np.intersect1d(endpoint, reference)
        if not prompts.size:
            raise ValueError(
                f"{len(endpoint)} and {len(reference)} answers have no prompt in common: ask both the same"
            )
        rows = [
            np.concatenate([np.flatnonzero(endpoint == prompt), len(endpoint) + np.flatnonzero(reference == prompt)])
            for prompt in prompts
        ]
        places = np.full((len(rows), max(map(len, rows), default=0)), NOWHERE, dtype=np.int64)
        for place, row in zip(places, rows, strict=True):
            place[: len(row)] = row
        here = (endpoint == prompts[:, np.newaxis]).sum(axis=1)
        return cls(places, here, (places != NOWHERE).sum(axis=1) - here)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def seen(self) -> FloatArray:
        """The labels there are: 1 for the endpoint's answers, [prompts, 1, width]."""
        return (np.arange(self.places.shape[1]) < self.here[:, np.newaxis]).astype(np.float64)[:, np.newaxis]

    def deals(self, draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Random labels, as many of each prompt as there are, in blocks [prompts, deals, width]."""
        past = (self.places == NOWHERE)[:, np.newaxis]
        block = max(1, _AT_ONCE // self.places.size)
        for begin in range(0, draws, block):
            keys = rng.random((len(self), min(block, draws - begin), self.places.shape[1]))
            # Places past the last come last, so the others are shuffled among themselves.
            order = np.where(past, np.inf, keys).argsort(axis=-1)
            yield (order < self.here[:, np.newaxis, np.newaxis]).astype(np.float64)


class Sums(NamedTuple):
    """Of a kernel over ordered pairs of different answers, [prompts, deals] each; `across` once from either side."""

    here: FloatArray
    there: FloatArray
    across: FloatArray

    @classmethod
    def of(cls, kernel: FloatArray, labels: FloatArray) -> Self:
        """kernel: [prompts, width, width], symmetric, 0 on its diagonal and past the last answer."""
        towards = labels @ kernel
        here = (towards * labels).sum(axis=-1)
        across = towards.sum(axis=-1) - here
        return cls(here, kernel.sum(axis=(1, 2))[:, np.newaxis] - here - 2.0 * across, across)


# From labels [prompts, deals, width] to values [deals]; large is bad.
Statistic = Callable[[FloatArray], FloatArray]


class Measured(NamedTuple):
    value: float
    p: float


def measured(pooled: Pooled, statistics: Sequence[Statistic], draws: int, rng: np.random.Generator) -> list[Measured]:
    """Each statistic as it is, with its p among the same deals of all."""
    dealt = np.concatenate(
        [np.stack([statistic(labels) for statistic in statistics]) for labels in pooled.deals(draws, rng)], axis=1
    )
    values = [float(statistic(pooled.seen)[0]) for statistic in statistics]
    return [Measured(value, p_value(value, among)) for value, among in zip(values, dealt, strict=True)]
