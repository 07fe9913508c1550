"""Which cluster of one prompt is which of another: the stacks behind all prompts, their shares, and whose an answer is.

Each prompt shows clusters of its own. A stack is the same for all answers of one visit (a connection, or what else is
known to be answered by one stack), and has one share of the visits: by these two, clusters of prompts are linked.
Shares are those that make the answers likeliest (EM for the weights of a mixture; Dempster, Laird & Rubin 1977).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from monitor.drift.interval import Interval
from monitor.drift.observation import FloatArray
from monitor.drift.rates import wilson
from monitor.drift.resplit import IntArray

# A prompt's link is sure where the next best explains its answers by a factor of 99 less well.
_SURE = 4.6
_SWEEPS = 4
_ROUNDS = 200
_LEAST = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Clustered:
    """One prompt's answers: the log-density of each in each cluster, shape [answers, clusters], and each one's visit,
    shape [answers]."""

    logs: FloatArray
    visit: IntArray

    @property
    def clusters(self) -> int:
        return int(self.logs.shape[1])

    def by_visit(self, visits: int) -> FloatArray:
        columns = [np.bincount(self.visit, weights=column, minlength=visits) for column in self.logs.T]
        return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """Stacks in the order of their shares, the largest first. maps: of each prompt, the cluster of each stack;
    unlinked: prompts whose clusters might as well be the other way round, which no share is counted from.

    of: the probability that an answer is of a stack, shape [answers, stacks], by prompt.
    """

    shares: FloatArray
    intervals: tuple[Interval, ...]
    maps: Mapping[str, tuple[int, ...]]
    unlinked: tuple[str, ...]
    of: Mapping[str, FloatArray]
    visits: int


def linked(prompts: Mapping[str, Clustered], evidence: Mapping[str, float]) -> Linked:
    """As many stacks as the prompt with the most clusters shows. evidence: log e of a prompt's clusters; links are laid
    from the prompt that shows them best."""
    stacks = max(one.clusters for one in prompts.values())
    ordered = sorted(prompts, key=lambda name: (-prompts[name].clusters, -evidence[name], name))
    visits = 1 + max(int(one.visit.max()) for one in prompts.values())
    logs = {name: prompts[name].by_visit(visits) for name in ordered}
    maps, sure = _maps(ordered, prompts, logs, stacks)
    # A prompt that shows no clusters says nothing of shares; where none does, all visits are of the one stack.
    counted = [name for name in ordered if name in sure and (prompts[name].clusters > 1 or stacks == 1)]
    asked = np.zeros(visits, dtype=bool)
    for name in counted:
        asked[prompts[name].visit] = True
    known = np.sum([logs[name][:, list(maps[name])] for name in counted], axis=0)[asked]
    shares = weights(known)
    order = np.argsort(-shares, kind="stable")
    shares = shares[order]
    maps = {name: tuple(np.array(maps[name])[order].tolist()) for name in maps}
    whole = np.sum([logs[name][:, list(maps[name])] for name in ordered], axis=0)
    likely = posterior(whole, shares)
    return Linked(
        shares,
        tuple(share_interval(known[:, order], shares, k) for k in range(stacks)),
        maps,
        tuple(sorted(name for name in ordered if name not in sure)),
        {name: likely[prompts[name].visit] for name in prompts},
        int(asked.sum()),
    )


def _maps(
    ordered: Sequence[str], prompts: Mapping[str, Clustered], logs: Mapping[str, FloatArray], stacks: int
) -> tuple[dict[str, tuple[int, ...]], frozenset[str]]:
    """Prompt after prompt, then each again with all others in view."""
    first = ordered[0]
    maps = {first: tuple(range(stacks))}
    total = logs[first].copy()
    sure = {first}
    for sweep in range(_SWEEPS):
        before = dict(maps)
        for name in ordered[1:]:
            if name in maps:
                total = total - logs[name][:, list(maps[name])]
            rows = np.unique(prompts[name].visit)
            best, lead = _best(total[rows], logs[name][rows], weights(total), stacks)
            maps[name] = best
            total = total + logs[name][:, list(best)]
            sure = sure | {name} if lead >= _SURE else sure - {name}
        if sweep and maps == before:
            break
    return maps, frozenset(sure)


def _best(known: FloatArray, added: FloatArray, shares: FloatArray, stacks: int) -> tuple[tuple[int, ...], float]:
    """The likeliest clusters of the stacks, and by how much in log-likelihood."""
    clusters = added.shape[1]
    if clusters == 1:
        return (0,) * stacks, np.inf
    ways = permutations(range(clusters)) if clusters == stacks else product(range(clusters), repeat=stacks)
    found = [way for way in ways if len(set(way)) == clusters]
    prior = known + np.log(np.maximum(shares, _LEAST))
    fits = np.array([np.logaddexp.reduce(prior + added[:, list(way)], axis=1).sum() for way in found])
    order = np.argsort(-fits, kind="stable")
    return found[order[0]], float(fits[order[0]] - fits[order[1]])


def weights(logs: FloatArray) -> FloatArray:
    """The shares that make log-densities, shape [visits, stacks], likeliest."""
    shares = np.full(logs.shape[1], 1.0 / logs.shape[1])
    for _ in range(_ROUNDS):
        new = posterior(logs, shares).mean(axis=0)
        if np.abs(new - shares).max() < 1e-7:
            return np.asarray(new)
        shares = new
    return shares


def posterior(logs: FloatArray, shares: FloatArray) -> FloatArray:
    joint = logs + np.log(np.maximum(shares, _LEAST))
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def share_interval(logs: FloatArray, shares: FloatArray, stack: int, level: float = 0.95) -> Interval:
    """Wilson's, at as many trials as the answers are worth: visits that might be of either stack count for less, by
    Fisher's information of the share."""
    if logs.shape[1] == 1:
        return wilson(len(logs), len(logs), level=level)
    share = float(np.clip(shares[stack], _LEAST, 1.0 - _LEAST))
    mine = posterior(logs, shares)[:, stack]
    slope = mine / share - (1.0 - mine) / (1.0 - share)
    trials = min(float(len(logs)), share * (1.0 - share) * float((slope**2).sum()))
    return wilson(share * trials, trials, level=level) if trials > 0.0 else Interval(0.0, 1.0, level)
