"""A round among all rounds before it: the evidence there is before days enough are known to say what is lawful."""

from __future__ import annotations

from collections.abc import Sequence


def rank_p(past: Sequence[float], score: float, tie: float) -> float:
    """The smoothed rank of a score from above, itself counted: (#{s > score} + tie · (#{s = score} + 1)) / (n + 1).

    With ties broken uniformly on (0, 1], the values of an exchangeable sequence are independent and uniform (Vovk,
    Gammerman & Shafer 2005, ch. 2), so that they may be bet on one after the other.
    """
    above = sum(one > score for one in past)
    equal = sum(one == score for one in past)
    return (above + tie * (equal + 1)) / (len(past) + 1)


def tie_breaker(seed: int, index: int) -> float:
    """The stored seed's number for round `index`, in (0, 1]: the same at every replay."""
    import numpy as np

    return 1.0 - float(np.random.default_rng([seed, index]).random())
