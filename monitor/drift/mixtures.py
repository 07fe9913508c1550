"""How many stacks are behind one endpoint, which answer is of which, and their shares: from its log-probabilities.

No more stacks are found than are proven: "two instead of one" by the e-value of `separation`, multiplied over prompts,
whose answers are independent; so P(two where there is one) ≤ α, whatever the tails and the days. A third and a fourth
are looked for within each cluster that was found, each at an equal part of α. There the answers were sorted by the same
data, and no error is promised: simulations have shown no stack too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from monitor.drift.evidence import Inapplicable
from monitor.drift.interval import Interval
from monitor.drift.linking import Clustered, linked
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray
from monitor.drift.separation import Scatter, fitted, log_e

MOST_STACKS = 4
FEWEST_ANSWERS = 8
ALPHA = 0.01
# Clusters nearer than this (mean |Δ| a token, in nats) are one stack: kernels that hang on the batch differ by as much.
LAWFUL_GAP = 0.03
_TAILS = 4.0
_REASSIGNED = 3
_MOST_LOG = float(np.log(1e12))


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """An endpoint's answers to one prompt.

    values: log-probabilities of the prompt's fixed tokens in nats, shape [answers, tokens], NaN where one was not
    returned. block: within which lawful noise stays as it is, such as a day; visit: what one stack is known to answer,
    such as a connection, one numbering for all prompts; both of shape [answers].
    """

    values: FloatArray
    block: IntArray
    visit: IntArray

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or not self.block.shape == self.visit.shape == self.values.shape[:1]:
            raise ValueError(
                f"values are [answers, tokens], block and visit [answers]; "
                f"these are {self.values.shape}, {self.block.shape} and {self.visit.shape}"
            )
        if np.isposinf(self.values).any() or np.isneginf(self.values).any():
            raise ValueError("log-probabilities are finite, or NaN where a token was not returned: drop sentinels")

    def of(self, chosen: np.ndarray) -> Self:
        return replace(self, values=self.values[chosen], block=self.block[chosen], visit=self.visit[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where each stack's answers to one prompt lie: centres [clusters, tokens] in nats, NaN where a token is never
    returned, and how they scatter around them. `cluster` of each stack: stacks that answer alike share one."""

    centres: FloatArray
    scatter: Scatter
    cluster: tuple[int, ...]

    def squared(self, values: FloatArray) -> FloatArray:
        """Squared lengths from each centre over the tokens that all centres have, shape [answers, clusters]."""
        return self.scatter.squared(values[:, np.newaxis, :] - self._compared)

    def seen(self, values: FloatArray) -> IntArray:
        """Tokens that are compared of each answer."""
        return np.asarray(np.isfinite(values - self._compared[0]).sum(axis=1))

    def logs(self, values: FloatArray) -> FloatArray:
        """Log-densities of Student's law of four degrees of freedom, up to what centres have in common."""
        seen = self.seen(values)[:, np.newaxis]
        return np.asarray(-(_TAILS + seen) / 2.0 * np.log1p(self.squared(values) / _TAILS))

    @property
    def _compared(self) -> FloatArray:
        return np.asarray(np.where(np.isfinite(self.centres).all(axis=0), self.centres, np.nan))


@dataclass(frozen=True, slots=True)
class Stack:
    """A share of the visits, and how far its answers are from the largest stack's: mean |Δ| a token, in nats."""

    share: float
    interval: Interval
    gap: float


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Stacks by their shares, the largest first. of: the probability that an answer is of a stack, [answers, stacks],
    by prompt. e: the e-value of two stacks instead of one. unlinked: prompts of which only the clusters are known, not
    whose they are."""

    stacks: tuple[Stack, ...]
    places: Mapping[str, Places]
    of: Mapping[str, FloatArray]
    e: float
    alpha: float
    visits: int
    unlinked: tuple[str, ...] = ()

    def __str__(self) -> str:
        if len(self.stacks) == 1:
            return f"one stack explains {self.visits} visits"
        shares = ", ".join(f"{one.share:.0%} ({one.interval.low:.0%}–{one.interval.high:.0%})" for one in self.stacks)
        gaps = max(one.gap for one in self.stacks)
        return f"{number(len(self.stacks))} stacks up to {gaps:.2f} nat apart: {shares} of {self.visits} visits"


def number(count: int) -> str:
    return {1: "one", 2: "two", 3: "three", 4: "four"}.get(count, str(count))


def mixture(
    answers: Mapping[str, Answers],
    noise: float,
    *,
    alpha: float = ALPHA,
    lawful_gap: float = LAWFUL_GAP,
    seed: int = 0,
) -> Mixture | Inapplicable:
    """noise: of a token's log-probability from repeat to repeat, standard deviation in nats, from enrolment; a stack is
    taken to scatter by so much at least. The order of the prompts and of an answer's visit number changes nothing.

    Raises ValueError for a noise or an α that is none.
    """
    if not noise >= 0.0 or not 0.0 < alpha < 1.0:
        raise ValueError(f"noise is 0 nat or more and alpha in (0, 1); these are {noise} and {alpha}")
    usable = {name: one for name, one in sorted(answers.items()) if len(one.values) >= FEWEST_ANSWERS}
    if not usable:
        return Inapplicable(f"stacks are told apart by {FEWEST_ANSWERS} answers to one prompt at least")
    search = _Search(noise, alpha, lawful_gap, seed)
    evidence = {name: log_e(one.values, one.block, noise, seed=seed) for name, one in usable.items()}
    total = sum(evidence.values())
    if total >= -np.log(alpha):
        places = {name: search.places(one, evidence[name], len(usable)) for name, one in usable.items()}
    else:
        places = {name: _placed(one, np.zeros(len(one.values), dtype=np.int64), noise) for name, one in usable.items()}
    numbers = np.unique(np.concatenate([one.visit for one in usable.values()]))
    clustered = {
        name: Clustered(places[name].logs(one.values), np.searchsorted(numbers, one.visit))
        for name, one in usable.items()
    }
    found = linked(clustered, evidence)
    placed = {name: replace(one, cluster=found.maps[name]) for name, one in places.items()}
    stacks = tuple(
        Stack(float(share), interval, _gap(placed, k))
        for k, (share, interval) in enumerate(zip(found.shares, found.intervals, strict=True))
    )
    e = float(np.exp(min(total, _MOST_LOG)))
    return Mixture(stacks, placed, found.of, e, alpha, found.visits, found.unlinked)


@dataclass(frozen=True, slots=True)
class _Search:
    noise: float
    alpha: float
    lawful_gap: float
    seed: int

    def places(self, one: Answers, evidence: float, prompts: int) -> Places:
        """The clusters of one prompt; two stacks are proven of all prompts together, so that here its own part in it
        has to speak for them, and each further cluster has to prove itself."""
        labels = np.zeros(len(one.values), dtype=np.int64)
        if evidence > 0.0:
            labels = self._halved(one, labels, 0)
        tested = 0
        while tested <= labels.max() and 1 < labels.max() + 1 < MOST_STACKS:
            mine = one.of(labels == tested)
            needed = np.log(MOST_STACKS * prompts / self.alpha)
            if len(mine.values) >= FEWEST_ANSWERS and (
                log_e(mine.values, mine.block, self.noise, seed=self.seed) >= needed
            ):
                after = self._halved(one, labels, tested)
                if after.max() > labels.max():
                    labels = after
                    continue
            tested += 1
        return _placed(one, labels, self.noise)

    def _halved(self, one: Answers, labels: IntArray, chosen: int) -> IntArray:
        """With the cluster in two, where these are further apart than is lawful."""
        members = np.flatnonzero(labels == chosen)
        split = fitted(one.values[members], one.block[members], self.noise)
        if split is None or split.gap < self.lawful_gap:
            return labels
        upper = split.scores(one.values[members]) > 0.0
        if not upper.any() or upper.all():
            return labels
        after = labels.copy()
        after[members[upper]] = labels.max() + 1
        return after


def _placed(one: Answers, labels: IntArray, noise: float) -> Places:
    places = _centred(one.values, labels, noise)
    for _ in range(_REASSIGNED):
        nearest = np.argmin(places.squared(one.values), axis=1)
        if np.unique(nearest).size < len(places.centres) or np.array_equal(nearest, labels):
            break
        labels = nearest
        places = _centred(one.values, labels, noise)
    return places


def _centred(values: FloatArray, labels: IntArray, noise: float) -> Places:
    clusters = int(labels.max()) + 1
    centres = np.full((clusters, values.shape[1]), np.nan)
    for cluster in range(clusters):
        mine = values[labels == cluster]
        there = np.isfinite(mine).mean(axis=0) >= 0.5
        centres[cluster, there] = np.nanmedian(mine[:, there], axis=0)
    return Places(centres, Scatter.of(values - centres[labels], noise), tuple(range(clusters)))


def _gap(places: Mapping[str, Places], stack: int) -> float:
    """To the largest stack, over the prompts' tokens that both have."""
    steps = [one.centres[one.cluster[stack]] - one.centres[one.cluster[0]] for one in places.values()]
    known = np.concatenate([step[np.isfinite(step)] for step in steps])
    return float(np.abs(known).mean()) if known.size else 0.0
