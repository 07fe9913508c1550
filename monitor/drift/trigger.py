"""Does the endpoint call tools on the same prompts as the reference? Two tests: of the rate, and of every prompt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from monitor.drift.observation import FloatArray
from monitor.drift.resplit import Deals, IntArray, hypergeometric, upper_tail

# Where prompts differ in their number of answers, a prompt's statistic is rounded to this part of its unit.
_FINENESS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """Of each prompt, `x` of `r_x` answers of the endpoint and `y` of `r_y` of the reference; shapes [prompts].

    Answers that failed are in none of the counts, and a prompt that one side never answered is not there.
    """

    x: IntArray
    r_x: IntArray
    y: IntArray
    r_y: IntArray

    @classmethod
    def of(cls, x: ArrayLike, r_x: ArrayLike, y: ArrayLike, r_y: ArrayLike) -> Self:
        """r_x and r_y may each be one number for all prompts."""
        counts = np.broadcast_arrays(*(np.atleast_1d(np.asarray(a, dtype=np.int64)) for a in (x, r_x, y, r_y)))
        in_both = (counts[1] > 0) & (counts[3] > 0)
        made = cls(*(np.ascontiguousarray(a[in_both]) for a in counts))
        if (made.x < 0).any() or (made.x > made.r_x).any() or (made.y < 0).any() or (made.y > made.r_y).any():
            raise ValueError("a prompt has more successes than answers, or fewer than none")
        return made

    def __len__(self) -> int:
        return self.x.size

    @property
    def p(self) -> FloatArray:
        return self.x / self.r_x

    @property
    def q(self) -> FloatArray:
        return self.y / self.r_y

    @property
    def weights(self) -> FloatArray:
        """What a prompt's difference is worth, r_x r_y / (r_x + r_y): one over its variance, up to p(1 − p)."""
        return self.r_x * self.r_y / (self.r_x + self.r_y)


@dataclass(frozen=True, slots=True)
class TriggerTest:
    """`p` is Bonferroni's over the two tests. difference: endpoint minus reference rate, mean over prompts; gap: the
    squared difference a prompt, beyond what repeats of an unchanged prompt differ by, summed (`gap`)."""

    p: float
    rate_p: float
    prompt_p: float
    difference: float
    gap: float
    prompts: int


def trigger_test(paired: Paired) -> TriggerTest | None:
    """None where the two sides have no prompt in common."""
    if not len(paired):
        return None
    difference, rate_p = rate_test(paired)
    prompt_p = prompt_test(paired)
    return TriggerTest(min(1.0, 2.0 * min(rate_p, prompt_p)), rate_p, prompt_p, difference, gap(paired), len(paired))


def rate_test(paired: Paired) -> tuple[float, float]:
    """Mean difference over prompts, weighted by their answers, and the two-sided p of its t: a shift of all prompts.

    With equal numbers of answers it is the paired t-test of p_i − q_i: prompts are the clusters, whatever their answers
    have in common. Never below 2^(1 − n), what the signs of n prompts can show.
    """
    from scipy.special import stdtr  # scipy.stats, which has it ready, takes 45 MB of every worker

    n = len(paired)
    weights = paired.weights / paired.weights.sum()
    differences = paired.p - paired.q
    mean = float(weights @ differences)
    least = 2.0 ** min(0, 1 - n)
    error = float(np.sqrt(n / max(1, n - 1) * ((weights * (differences - mean)) ** 2).sum()))
    if error < 1e-12:
        return mean, least if abs(mean) > 1e-12 else 1.0
    return mean, max(least, 2.0 * float(stdtr(n - 1, -abs(mean) / error)))


def prompt_test(paired: Paired) -> float:
    """Exact p of Σ w_i (p_i − q_i)² under re-splitting: few prompts that moved far.

    With r answers a side everywhere this is the permutation test of the MMD (`gap`): given the pooled successes its
    variance terms are, but for a constant, (p_i − q_i)² too. Given those, x_i is hypergeometric.
    """
    fineness = 1 if _equal(paired) else _FINENESS
    unit = 1.0 / (2.0 * fineness * int(max(paired.r_x.max(), paired.r_y.max())))
    rows = zip(paired.x.tolist(), paired.r_x.tolist(), (paired.x + paired.y).tolist(), paired.r_y.tolist(), strict=True)
    observed, deals = 0, []
    for x, r_x, called, r_y in rows:
        least, dealt = _squares(called, r_x, r_y, unit)
        observed += int(dealt.values[x - least])
        deals.append(dealt)
    return upper_tail(observed, deals)


def _equal(paired: Paired) -> bool:
    return bool((paired.r_x == paired.r_x[0]).all() and (paired.r_y == paired.r_x[0]).all())


@lru_cache(maxsize=4_096)
def _squares(called: int, r_x: int, r_y: int, unit: float) -> tuple[int, Deals]:
    """The smallest x, and the deals of x = that, that + 1, …"""
    least, chances = hypergeometric(called, r_x, r_y)
    x = np.arange(least, least + chances.size)
    squares = (x / r_x - (called - x) / r_y) ** 2 * (r_x * r_y / (r_x + r_y))
    return least, Deals(np.rint(squares / unit).astype(np.int64), chances)


def gap(paired: Paired) -> float:
    """Σ_i [(p_i − q_i)² − p_i(1 − p_i)/(r_x − 1) − q_i(1 − q_i)/(r_y − 1)]: the unbiased squared distance (MMD) of the
    two sides, over prompts with at least two answers on both. 0 on average while nothing changed."""
    several = (paired.r_x > 1) & (paired.r_y > 1)
    p, q = paired.p[several], paired.q[several]
    noise = p * (1.0 - p) / (paired.r_x[several] - 1) + q * (1.0 - q) / (paired.r_y[several] - 1)
    return float(((p - q) ** 2 - noise).sum())


def f1(paired: Paired) -> float | None:
    """2TP / (2TP + FP + FN) of calling a tool, with the reference as truth, over all pairs of answers of a prompt.

    None where neither side ever called.
    """
    calls = float((paired.p + paired.q).sum())
    return 2.0 * float((paired.p * paired.q).sum()) / calls if calls else None


def self_f1(y: ArrayLike, r_y: ArrayLike) -> float | None:
    """What `f1` shows of the reference against itself: over all pairs of different answers of one prompt.

    Prompts with one answer tell nothing. An endpoint is not to be measured against 1 but against this.
    """
    called, asked = (np.atleast_1d(np.asarray(a, dtype=np.int64)) for a in np.broadcast_arrays(y, r_y))
    several = asked > 1
    called, asked = called[several], asked[several]
    calls = float((called / asked).sum())
    return float((called * (called - 1) / (asked * (asked - 1))).sum()) / calls if calls else None
