"""Are a call's arguments drawn from the same distribution as the reference's, prompt by prompt?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.resplit import MOST_WAYS, Deals, IntArray, upper_tail, ways

_UNIT = 1.0 / 64.0

# The parts of one answer that are compared, the same number of them in every answer of a prompt: a hash of the
# canonical JSON of its exact leaves; of free text its length class and its set of words.
Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PromptArguments:
    """The arguments of one prompt's calls on both sides; answers that called nothing are not there."""

    endpoint: tuple[Parts, ...]
    reference: tuple[Parts, ...]


@dataclass(frozen=True, slots=True)
class ArgumentsTest:
    """distance: the unbiased squared distance (MMD) of the two sides, mean over prompts; None where no prompt has two
    answers on both. 0 on average while nothing changed, 2 where the two sides never agree and each always does."""

    p: float
    distance: float | None
    prompts: int


def arguments_test(prompts: Sequence[PromptArguments], *, most: int = MOST_WAYS, seed: int = 0) -> ArgumentsTest | None:
    """Permutation test of the MMD with a Hamming kernel, the share of parts that agree, re-split within each prompt
    (Gao et al. 2025, whose p leaves out the observation itself). None without a prompt that both sides called on.

    Exact for up to `most` ways to deal a prompt's answers; beyond, so many random ones stand for all.
    """
    rng = np.random.default_rng(seed)
    observed, deals, distances = 0, [], []
    for prompt in prompts:
        if not prompt.endpoint or not prompt.reference:
            continue
        x, y, kernel = _kinds(prompt)
        dealt = ways(x, y, most, rng)
        values = np.rint(_between(dealt.counts, x + y, kernel) / _UNIT).astype(np.int64)
        observed += int(values[dealt.seen])
        deals.append(Deals(values, dealt.chances))
        if min(x.sum(), y.sum()) > 1:
            distances.append(_distance(x, y, kernel))
    if not deals:
        return None
    return ArgumentsTest(upper_tail(observed, deals), float(np.mean(distances)) if distances else None, len(deals))


def _kinds(prompt: PromptArguments) -> tuple[IntArray, IntArray, FloatArray]:
    """Of each different answer how often either side gave it, and the share of parts on which two of them agree."""
    kinds = sorted({*prompt.endpoint, *prompt.reference})
    x, y = (np.array([side.count(kind) for kind in kinds]) for side in (prompt.endpoint, prompt.reference))
    kernel = [[np.mean([a == b for a, b in zip(one, other, strict=True)]) for other in kinds] for one in kinds]
    return x, y, np.array(kernel)


def _between(x: IntArray, pooled: IntArray, kernel: FloatArray) -> FloatArray:
    """Squared distance of the sides' means, weighted as for rates (`Paired.weights`); shape [ways]."""
    r_x = int(x[0].sum())
    r_y = int(pooled.sum()) - r_x
    apart = x / r_x - (pooled - x) / r_y
    return np.asarray(((apart @ kernel) * apart).sum(axis=1) * (r_x * r_y / (r_x + r_y)))


def _distance(x: IntArray, y: IntArray, kernel: FloatArray) -> float:
    within = [(side @ kernel @ side - side.sum()) / (side.sum() * (side.sum() - 1)) for side in (x, y)]
    return float(sum(within) - 2.0 * (x @ kernel @ y) / (x.sum() * y.sum()))
