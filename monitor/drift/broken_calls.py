"""T6: is a larger share of tool calls broken than is lawful? A round's count as factors of a stream.

Null: each call, given all before it, is broken with a chance of at most `lawful`. For an alternative share q above it
the likelihood ratio (q / p)^broken ((1 − q) / (1 − p))^whole has then a mean of at most 1 (Wald 1945; it falls with the
chance). One factor an alternative: each is multiplied over rounds, and the products are averaged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from monitor.drift.evidence import Combining, Evidence, Factors, Inapplicable, Null, StreamKey
from monitor.drift.observation import FloatArray

# Alternatives, in multiples of the lawful share, and the largest one that is bet on.
MULTIPLES = (1.5, 2.0, 3.0, 5.0, 10.0, 20.0)
_MOST = 0.9
_CONFIDENCE = 0.99
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


def of_calls(stream: StreamKey, at: float, broken: int, calls: int, lawful: float, *, tokens: int = 0) -> Evidence:
    """A round at `at`, in seconds since 1970, of which `broken` of `calls` do not keep to their schema; calls that were
    not answered are in neither. Raises ValueError for more broken calls than calls."""
    if not 0 <= broken <= calls:
        raise ValueError(f"of {calls} calls {broken} cannot be broken")
    if not calls:
        return Evidence(stream, at, Inapplicable("no tool was called"), 0, tokens)
    factors = tuple(np.exp(log_factors(broken, calls, lawful)).tolist())
    reason = f"{broken} of {calls} calls are broken, where {lawful:.1%} is lawful"
    return Evidence(stream, at, Factors(factors, Null.LAWFUL_MEAN, Combining.EACH), calls, tokens, (reason,))


def lawful_share(broken: int, calls: int) -> float:
    """What a baseline of so many calls allows: the 99 % upper confidence bound of their share (Clopper & Pearson 1934).
    Raises ValueError where every call is broken, or there is none."""
    from scipy.special import betaincinv

    if not 0 <= broken < calls:
        raise ValueError(f"a baseline has calls that are whole: {broken} of {calls} are broken")
    return float(betaincinv(broken + 1, calls - broken, _CONFIDENCE))
