"""RUT: is each of the endpoint's answers anywhere among the reference's to the same prompt (Zhu et al., ICLR 2026)?

An answer's score is the mean log-rank of its tokens under the reference. Where the endpoint draws as the reference
does, the rank of its score among m fresh ones of the same prompt is uniform, whatever the prompt; prompts are asked
once and independent of each other, so Cramér and von Mises' ω² tells whether all ranks together are. Each prompt's null
is supplied by the reference, so none needs to be asked again: no answer can be cached, and no prompt be known.

One answer to a prompt. Several would be ranked among the same m scores: their ranks lean the same way, and ω² of all
rejects too often (DETECTION.md Table E: 3.2 % at 1 % with 10 answers to each of 10 prompts).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.drift.answers import Sides
from monitor.drift.dealt_answers import Pooled
from monitor.drift.observation import FloatArray
from monitor.drift.relabelling import p_value

DRAWS = 99_999
_AT_ONCE = 1_000_000


def smoothed_ranks(scores: FloatArray, among: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(#{below} + U (#{equal} + 1)) / (m + 1), [prompts], of each score in its row of `among`, [prompts, m]; nan in a
    row is no score. U is uniform on (0, 1].

    The score counts among those that it is ranked with, and U spreads it over its place: uniform on (0, 1] exactly, for
    every m (Vovk, Gammerman & Shafer 2005, ch. 2), where (#{below} + U #{equal}) / m is so for large m only.
    """
    own = scores[:, np.newaxis]
    below, equal, m = (count.sum(axis=1) for count in (among < own, among == own, ~np.isnan(among)))
    return np.asarray((below + (1.0 - rng.random(len(scores))) * (equal + 1)) / (m + 1))


def omega_squared(ranks: FloatArray) -> FloatArray:
    """1 / 12n + Σ ((2i − 1) / 2n − r₍ᵢ₎)², of ranks in rising order, [..., n] → [...]."""
    n = ranks.shape[-1]
    expected = (2.0 * np.arange(1, n + 1) - 1.0) / (2.0 * n)
    return np.asarray(1.0 / (12.0 * n) + ((expected - ranks) ** 2).sum(axis=-1))


def omega_p(observed: float, n: int, draws: int, rng: np.random.Generator) -> float:
    """(1 + #{ω²* ≥ ω²}) / (1 + draws), of n uniform ranks drawn so often: exact for every n and number of draws.

    Rising uniform values are partial sums of exponential ones over their whole sum, which saves sorting them.
    """
    found, block = [], max(1, _AT_ONCE // (n + 1))
    for begin in range(0, draws, block):
        sums = rng.standard_exponential((min(block, draws - begin), n + 1)).cumsum(axis=1)
        found.append(omega_squared(sums[:, :-1] / sums[:, -1:]))
    return p_value(observed, np.concatenate(found))


@dataclass(frozen=True, slots=True)
class Uniformity:
    """mean: of the ranks, 0.5 on average; above it answers are of rarer tokens than the reference's own. prompts: how
    many were ranked; among: how many answers of the reference the fewest were ranked with."""

    p: float
    omega_squared: float
    mean: float
    prompts: int
    among: int

    def __str__(self) -> str:
        return (
            f"{self.prompts} answers rank at {self.mean:.3f} on average among the reference's own "
            f"(0.5 where nothing differs; ω² {self.omega_squared:.3f}, p {self.p:.2g})"
        )


def uniformity(sides: Sides, rng: np.random.Generator, draws: int = DRAWS) -> Uniformity:
    """Of the first answer to each prompt. Raises ValueError without a prompt that both sides answered."""
    pooled = Pooled.of(sides.endpoint.prompts, sides.reference.prompts)
    scores = np.concatenate([sides.endpoint.log_rank, sides.reference.log_rank])
    theirs = pooled.places >= len(sides.endpoint)
    among = np.where(theirs, scores[pooled.places], np.nan)
    ranks = np.sort(smoothed_ranks(scores[pooled.places[:, 0]], among, rng))
    omega = float(omega_squared(ranks))
    return Uniformity(
        omega_p(omega, len(ranks), draws, rng), omega, float(ranks.mean()), len(ranks), int(pooled.there.min())
    )
