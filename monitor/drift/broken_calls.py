"""T6: is a larger share of tool calls broken than is lawful? A round's count as factors of a stream.

Null: the chance of each case to be broken, given all rounds before, is at most `lawful` on average over a round's
cases, which are answered independently of each other. Answers to one case are not, so that a case counts once, by the
share of its calls that are broken. For an alternative share q above it the likelihood ratio
(q / p)^broken ((1 − q) / (1 − p))^whole has then a mean of at most 1 (Wald 1945): it is convex in a case's share, so
that of all shares with one mean it is largest where they are 0 and 1; and over cases of different chances the product
of means is largest where these are alike. One factor an alternative: each is multiplied over rounds, and the products
are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from monitor.drift.evidence import Counts, Evidence, Inapplicable, StreamKey
from monitor.drift.observation import FloatArray

# Alternatives, in multiples of the lawful share, and the largest one that is bet on.
MULTIPLES = (1.5, 2.0, 3.0, 5.0, 10.0, 20.0)
_MOST = 0.9
# A lawful share from which on there is nothing to bet on.
MOST_LAWFUL = 0.8
# Fewer broken calls than this are nobody's trouble, however many were seen without any.
_LEAST = 0.005
_CONFIDENCE = 0.99
_ROUND_IN_A_HUNDRED = 2.326
# A factor is cut above e to this, which makes no mean larger.
_MOST_NATS = 600.0


def alternatives(lawful: float) -> FloatArray:
    """The shares that are bet on, rising, [alternatives]. Raises ValueError unless `lawful` leaves room above it."""
    if not 0.0 < lawful < _MOST:
        raise ValueError(f"a lawful share of broken calls is above 0 and below {_MOST}, and this is {lawful}")
    shares = np.minimum(_MOST, lawful * np.array(MULTIPLES))
    return np.unique(shares[shares > lawful])


def log_factors(broken: ArrayLike, calls: ArrayLike, lawful: float) -> FloatArray:
    """Of counts of any shape, in nats, [..., alternatives]."""
    bad, of = (np.asarray(each, dtype=np.float64)[..., np.newaxis] for each in (broken, calls))
    q = alternatives(lawful)
    ratios = bad * np.log(q / lawful) + (of - bad) * np.log((1.0 - q) / (1.0 - lawful))
    return np.asarray(np.minimum(_MOST_NATS, ratios))


class CaseCalls(NamedTuple):
    """What became of it in one run: `broken` is the share of its calls that do not keep to their schema. anchor: it is
    asked in every run."""

    key: str
    broken: float
    anchor: bool


def of_cases(
    stream: StreamKey, at: float, cases: Sequence[CaseCalls], before: Collection[str], asked: str, *, tokens: int = 0
) -> Evidence:
    """A round at `at`, in seconds since 1970; cases without a call are left out. before: the keys of those that were
    asked before; asked: the version of what is."""
    if not cases:
        return Evidence(stream, at, Inapplicable("no tool was called"), 0, tokens)
    bad = tuple((one.key, one.broken) for one in cases if one.broken > 0.0)
    fresh = [one.broken for one in cases if not one.anchor and one.key not in before]
    says = Counts(bad, len(cases), min(math.fsum(fresh), float(len(fresh))), len(fresh), asked)
    return Evidence(stream, at, says, says.of, tokens, (f"of {says.of} cases {len(bad)} have broken calls",))


def lawful_share(broken: float, calls: int) -> float:
    """What a baseline of so many calls allows: the 99 % upper confidence bound of their share (Clopper & Pearson 1934).
    Raises ValueError where every call is broken, or there is none."""
    from scipy.special import betaincinv

    if not 0 <= broken < calls:
        raise ValueError(f"a baseline has calls that are whole: {broken} of {calls} are broken")
    return float(betaincinv(broken + 1, calls - broken, _CONFIDENCE))


def lawful_of_rounds(broken: ArrayLike, cases: ArrayLike) -> float:
    """What a baseline of rounds allows, [rounds] each: the bound of their share, or where rounds differ by more than
    chance explains, the share that one round in a hundred exceeds.

    How much the chances of rounds differ is estimated by moments (analysis of variance; Searle, Casella & McCulloch
    1992, ch. 3). 1 where nothing is whole. Raises ValueError for fewer than two rounds.
    """
    bad, of = (np.asarray(each, dtype=np.float64) for each in (broken, cases))
    if of.size < 2:
        raise ValueError(f"rounds are compared with each other, and {of.size} are given")
    total, all_bad = float(of.sum()), float(bad.sum())
    if all_bad >= total:
        return 1.0
    mean = all_bad / total
    between = float((of * (bad / of - mean) ** 2).sum()) / (of.size - 1)
    size = (total - float((of**2).sum()) / total) / (of.size - 1)
    spread = math.sqrt(max(0.0, between - mean * (1.0 - mean)) / size)
    return max(_LEAST, lawful_share(all_bad, int(total)), mean + _ROUND_IN_A_HUNDRED * spread)
