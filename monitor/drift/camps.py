"""Providers in two camps of similar size: then none of them is the one that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from monitor.drift.common_tokens import Table
from monitor.drift.observation import FloatArray

# Of all providers, from which on those that differ alike are a camp.
_CAMP = 1.0 / 3.0


@dataclass(frozen=True, slots=True)
class CampTest:
    """members: by name, the larger camp first. ratio: of the mean distance between camps to that within them.

    p: camps are chosen on every other prompt. On each of the rest at most one division into groups of these sizes has
    all distances within smaller than all between, and if providers could change places there, each division had the
    same chance to be it; p is that of so many prompts on which the chosen one is it.
    """

    members: tuple[tuple[str, ...], tuple[str, ...]]
    ratio: float
    p: float


def camps(providers: Sequence[str], tables: Sequence[Table], lawful: float, tolerance: float) -> CampTest | None:
    """None where the best division is not one of similar sizes, or not `tolerance` times as far apart as within."""
    pairs = np.stack([_pairs(table) for table in tables])
    second = _division(pairs[::2].mean(axis=0))
    sizes = int((~second).sum()), int(second.sum())
    if min(sizes) < max(2.0, _CAMP * len(providers)):
        return None
    between = second[:, np.newaxis] != second[np.newaxis, :]
    within = ~between & ~np.eye(len(providers), dtype=bool)
    means = pairs.mean(axis=0)
    apart, together = float(means[between].mean()), float(means[within].mean())
    if apart <= max(lawful, tolerance * together):
        return None
    rest = pairs[1::2]
    clean = rest[:, within].max(axis=1) < rest[:, between].min(axis=1)
    names = [tuple(np.array(providers)[side].tolist()) for side in (~second, second)]
    larger, smaller = sorted(names, key=lambda members: (-len(members), members))
    divisions = comb(sum(sizes), sizes[0]) // (2 if sizes[0] == sizes[1] else 1)
    ratio = apart / together if together > 0.0 else float("inf")
    return CampTest((larger, smaller), ratio, _at_least(int(clean.sum()), clean.size, 1.0 / divisions))


def _pairs(table: Table) -> FloatArray:
    differences = table.values[:, np.newaxis, :] - table.values[np.newaxis, :, :]
    return np.asarray(table.weight * np.abs(differences).sum(axis=2))


def _division(distances: FloatArray) -> np.ndarray:
    """The two clusters of average linkage (Sokal & Michener 1958)."""
    from scipy.cluster.hierarchy import fcluster, linkage

    condensed = distances[np.triu_indices(len(distances), 1)]
    return np.asarray(fcluster(linkage(condensed, "average"), 2, "maxclust") == 2)


def _at_least(hits: int, trials: int, chance: float) -> float:
    from scipy.special import bdtrc

    return float(bdtrc(hits - 1, trials, chance)) if hits else 1.0
