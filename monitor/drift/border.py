"""T2: border inputs, prompts whose first token at temperature 0 is nearly tied: which to ask, and whether they can be
used (DETECTION.md §2.3; B3IT, Chauvin et al., ICML 2026).

The reference proposes the tightest prompts; three answers to each from the endpoint say which of them vary; a hundred
to each of these, which are balanced most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.drift.evidence import Inapplicable
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray

# Prompts that are asked a few times, of those the ones that are asked often, and of those the ones that are kept.
SCREENED, CANDIDATES, KEPT, FEWEST = 300, 50, 20, 10
SCREENING_ASKS, ASKS = 3, 100
# More prompts than this share do not vary by near ties alone, unless they were picked for them.
_COMMON = 0.3
_BROADER_P = 0.01
_RESPLITS = 1_999


def tightest(gaps: FloatArray, most: int = SCREENED) -> IntArray:
    """The prompts to screen, tightest first: indices into `gaps`, in nats between the two likeliest first tokens of
    each prompt under the reference, shape [prompts]; NaN where they are not known."""
    if (gaps < 0.0).any():
        raise ValueError(f"a gap is of the likeliest token over the second, never negative: {gaps[gaps < 0.0][0]}")
    order = np.argsort(gaps, kind="stable")
    return np.asarray(order[np.isfinite(gaps[order])][:most], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Screened:
    """varied: the prompts to ask a hundred times, indices into those screened, in their order. prevalence: the share of
    all screened that vary."""

    varied: IntArray
    prevalence: float

    @property
    def common(self) -> bool:
        """Whether so many vary that the endpoint may ignore temperature 0: `ignores_temperature` has to be asked."""
        return self.prevalence > _COMMON


def screened(firsts: IntArray, most: int = CANDIDATES) -> Screened | Inapplicable:
    """firsts: numbers of the first tokens of three answers or more at temperature 0, shape [prompts, asks], tightest
    first; −1 where there was none."""
    if firsts.ndim != 2 or firsts.shape[1] < SCREENING_ASKS:
        raise ValueError(f"screening takes {SCREENING_ASKS} answers to each prompt, and these are {firsts.shape}")
    came = firsts >= 0
    if not came.any():
        return Inapplicable("border inputs: no answer had a first token")
    asked = came.sum(axis=1) > 1
    if len(firsts) > 1 and np.unique(firsts[came]).size == 1:
        return Inapplicable(
            "border inputs: the answers to all prompts begin with the same token, as those of reasoning models do"
        )
    varies = asked & ((firsts != firsts.max(axis=1, keepdims=True)) & came).any(axis=1)
    if not varies.any():
        return Inapplicable(f"border inputs: the first token of none of {asked.sum()} prompts varies")
    return Screened(np.flatnonzero(varies)[:most], float(varies.sum() / asked.sum()))


def ignores_temperature(found: Screened, at_zero: IntArray, at_one: IntArray, *, seed: int = 0) -> Inapplicable | None:
    """`Inapplicable` where many prompts vary at temperature 0, and answers at 1 are no broader (p > 1 %): then they
    vary because they are drawn. Counts of first tokens, shape [prompts, tokens], of the same prompts and tokens."""
    if not found.common:
        return None
    p = broader_p(at_zero, at_one, seed=seed)
    if p <= _BROADER_P:
        return None
    return Inapplicable(
        f"border inputs: the first token of {found.prevalence:.0%} of the prompts varies at temperature 0, "
        f"and no more at 1 (p {p:.3f}): the endpoint ignores temperature 0"
    )


def broader_p(at_zero: IntArray, at_one: IntArray, *, seed: int = 0) -> float:
    """p that answers at temperature 1 are broader than those at 0 by chance: both are dealt out anew within each
    prompt, the deal seen counted as one (Phipson & Smyth 2010). What is compared is the chance that two answers to a
    prompt agree, added up. Prompts need two answers at both temperatures; 1 where none has."""
    if at_zero.shape != at_one.shape or at_zero.ndim != 2:
        raise ValueError(f"counts are of the same prompts and tokens: {at_zero.shape} and {at_one.shape}")
    rng = np.random.default_rng(seed)
    enough = (at_zero.sum(axis=1) > 1) & (at_one.sum(axis=1) > 1)
    seen, dealt = 0.0, np.zeros(_RESPLITS)
    for zero, one in zip(at_zero[enough], at_one[enough], strict=True):
        pooled = zero + one
        anew = rng.multivariate_hypergeometric(pooled, int(zero.sum()), size=_RESPLITS, method="marginals")
        seen += float(_agreement(zero) - _agreement(one))
        dealt += _agreement(anew) - _agreement(pooled - anew)
    return float((1 + np.count_nonzero(dealt >= seen - 1e-9)) / (1 + _RESPLITS))


def _agreement(counts: IntArray) -> FloatArray:
    """Unbiased chance that two answers have the same token, [..., tokens] → [...]."""
    n = counts.sum(axis=-1)
    return np.asarray((counts * (counts - 1)).sum(axis=-1) / (n * (n - 1)))


def balance(counts: IntArray) -> FloatArray:
    """How near to a tie: the second most frequent token over the most frequent one, [..., tokens] → [...]."""
    if counts.shape[-1] < 2:
        return np.zeros(counts.shape[:-1])
    highest = np.sort(counts, axis=-1)
    return np.asarray(highest[..., -2] / np.maximum(1, highest[..., -1]))


def most_balanced(counts: IntArray, most: int = KEPT) -> IntArray:
    """Indices into counts of first tokens, [prompts, tokens], nearest to a tie first, without those that never
    vary."""
    found = balance(counts)
    order = np.argsort(-found, kind="stable")
    return np.asarray(order[found[order] > 0.0][:most], dtype=np.int64)
