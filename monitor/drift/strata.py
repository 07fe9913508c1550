"""Two sets of cases that have none in common, stratum by stratum: the difference of their values, its interval, its p.

Of each case there is one value, however often it was asked, as its repeats hang together. While nothing changed, the
cases of a stratum might as well be exchanged between the two sides, and every way to deal their values is as likely as
the one seen. The statistic is the sum over strata of the values on the one side: the difference of the two means, each
stratum by n m / (n + m) of its n and m cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from monitor.drift.interval import Interval
from monitor.drift.observation import FloatArray
from monitor.drift.rates import wilson
from monitor.drift.resplit import dealt, upper_tail
from monitor.drift.ternary import FEW_DIFFER, Difference, by_shares, recovered

# To which values are rounded in the test.
_UNIT = 1.0 / 32.0


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """One value a case, neither side empty; shapes [cases]."""

    now: FloatArray
    then: FloatArray

    @property
    def weight(self) -> float:
        return self.now.size * self.then.size / (self.now.size + self.then.size)


def fewer(strata: Sequence[Stratum]) -> float:
    """Exact p of the values now being as low as they are, by dealing each stratum's cases to the two sides anew."""
    return _tail(strata, -1.0)


def moved(strata: Sequence[Stratum]) -> float:
    """The same of their being as low or as high."""
    return min(1.0, 2.0 * min(_tail(strata, -1.0), _tail(strata, 1.0)))


def _tail(strata: Sequence[Stratum], sign: float) -> float:
    observed, deals = 0, []
    for one in strata:
        values = np.rint(sign * np.concatenate([one.now, one.then]) / _UNIT).astype(np.int64)
        values -= values.min()
        observed += int(values[: one.now.size].sum())
        deals.append(dealt(values, one.now.size))
    return upper_tail(observed, deals)


def difference_of_shares(strata: Sequence[Stratum], answers: float, *, level: float = 0.95) -> Difference:
    """Of values that are shares of `answers` answers to a case, as many in the mean: from Wilson's limits of both sides
    at the effective number of trials (`rates.clustered_rate`), so that an unbroken row of successes shows only so much
    (Zou & Donner 2008)."""
    now, then = _sides(strata)
    one, other = (Difference(side.mean, _of_share(side, answers, level)) for side in (now, then))
    return Difference(one.value - other.value, recovered(one, other, level))


def difference_in_differences(strata: Sequence[Stratum], *, level: float = 0.95) -> Difference:
    """(endpoint − reference) now less the same then, of values that are each case's difference to the reference: what
    moves on both sides alike, such as a harder draw of cases, drops out. Student's interval of each side, with the
    scatter of its cases within their strata; where few cases differ at all, by shares as in `ternary.difference`."""
    one, other = (Difference(side.mean, _of_moves(side, level)) for side in _sides(strata))
    return Difference(one.value - other.value, recovered(one, other, level))


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """Values with weights that sum up to 1, and what each is off its stratum and its side; shapes [cases]."""

    values: FloatArray
    weights: FloatArray
    residuals: FloatArray

    @property
    def mean(self) -> float:
        return float(self.weights @ self.values)

    @property
    def variance(self) -> float:
        """Of the mean."""
        n = self.values.size
        return n / max(1, n - 1) * float(((self.weights * self.residuals) ** 2).sum())

    @property
    def cases(self) -> float:
        """The effective number that the weights leave."""
        return 1.0 / float((self.weights**2).sum())

    def t(self, level: float) -> float:
        from scipy.special import stdtrit  # scipy.stats, which has it ready, takes 45 MB of every worker

        return float(stdtrit(max(1, self.values.size - 1), (1.0 + level) / 2.0))


def _sides(strata: Sequence[Stratum]) -> tuple[_Side, _Side]:
    total = sum(one.weight for one in strata)
    value = sum(one.weight * float(one.now.mean() - one.then.mean()) for one in strata) / total
    # Residuals of a regression on the strata and the side, each by the leverage of its stratum.
    common = [float(np.concatenate([one.now - value, one.then]).mean()) for one in strata]
    cases = [one.now.size + one.then.size for one in strata]
    leverage = [np.sqrt(n / (n - 1.0)) for n in cases]
    now, then = ([one.now for one in strata], [one.then for one in strata])
    return (
        _side(strata, total, now, [(v - c - value) * k for v, c, k in zip(now, common, leverage, strict=True)]),
        _side(strata, total, then, [(v - c) * k for v, c, k in zip(then, common, leverage, strict=True)]),
    )


def _side(
    strata: Sequence[Stratum], total: float, values: Sequence[FloatArray], residuals: Sequence[FloatArray]
) -> _Side:
    weights = [np.full(found.size, one.weight / total / found.size) for one, found in zip(strata, values, strict=True)]
    return _Side(np.concatenate(values), np.concatenate(weights), np.concatenate(residuals))


def _of_share(side: _Side, answers: float, level: float) -> Interval:
    p, variance = side.mean, side.variance
    trials = side.cases
    if variance > 1e-12 and 0.0 < p < 1.0:
        few = NormalDist().inv_cdf((1.0 + level) / 2.0) / side.t(level)
        trials = min(answers * side.cases, p * (1.0 - p) / variance * few**2)
    p = min(1.0, max(0.0, p))
    return wilson(p * trials, trials, level=level)


def _of_moves(side: _Side, level: float) -> Interval:
    if np.count_nonzero(side.values) < FEW_DIFFER:
        return by_shares(side.values, side.weights, level)
    margin = side.t(level) * float(np.sqrt(side.variance))
    return Interval(side.mean - margin, side.mean + margin, level)
