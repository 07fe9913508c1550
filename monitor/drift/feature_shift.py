"""The profile vector of a serving stack: has a feature's histogram moved, and which variants answer how often?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.rates import Rate, rate
from monitor.drift.resplit import RUN_LEVEL_WAYS, Deals, IntArray, upper_tail, ways

_UNIT = 1.0 / 64.0
# Ways to deal a stratum times its values: 32 MB of counts.
_MOST_CELLS = 4_000_000
# A feature is deterministic where so many responses of the baseline showed one value; another value is believed when
# it was seen so often.
DETERMINISTIC_AFTER = 200
BELIEVED_AFTER = 2


@dataclass(frozen=True, slots=True)
class Histograms:
    """How often each value of a feature was seen in the baseline window and in the new run."""

    baseline: Mapping[str, int]
    new: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FeatureTest:
    """g: the likelihood-ratio statistic, summed over strata; new_values: what the baseline never showed."""

    p: float
    g: float
    new_values: tuple[str, ...]


def feature_test(strata: Iterable[Histograms], *, most: int = RUN_LEVEL_WAYS, seed: int = 0) -> FeatureTest | None:
    """G-test by dealing the pooled responses anew within each stratum; None where no stratum has both windows.

    A light run asks another share of the probes each hour: where a feature depends on what was asked (content beside a
    call, tokens a chunk), strata are the kinds of probe; for the others one stratum will do. The joint histogram of
    whole vectors is tested the same way, by their hashes. `most`: as for `arguments_test`; of one stratum no p is below
    one over it. Of a feature that is another one in every response there are fewer, as memory is not without an end.
    """
    rng = np.random.default_rng(seed)
    observed, g, deals, new_values = 0, 0.0, [], set()
    for stratum in strata:
        values = sorted({value for side in (stratum.baseline, stratum.new) for value, times in side.items() if times})
        new, baseline = (
            np.array([side.get(v, 0) for v in values], dtype=np.int64) for side in (stratum.new, stratum.baseline)
        )
        if not new.sum() or not baseline.sum():
            continue
        dealt = ways(new, baseline, min(most, _MOST_CELLS // len(values)), rng)
        statistics = _g(dealt.counts, new + baseline)
        on_lattice = np.rint(statistics / _UNIT).astype(np.int64)
        observed, g = observed + int(on_lattice[dealt.seen]), g + float(statistics[dealt.seen])
        deals.append(Deals(on_lattice, dealt.chances))
        new_values |= {value for value, times in zip(values, baseline.tolist(), strict=True) if not times}
    return FeatureTest(upper_tail(observed, deals), g, tuple(sorted(new_values))) if deals else None


def _g(new: IntArray, pooled: IntArray) -> FloatArray:
    """2 Σ O log(O / E) of a table of two rows, shape [ways]; never below 0 for the rounding of its sums."""
    from scipy.special import xlogy

    def entropy(counts: IntArray) -> FloatArray:
        return np.asarray(xlogy(counts, counts).sum(axis=-1))

    baseline = pooled - new
    ends = np.array([new[0].sum(), baseline[0].sum()])
    cells = entropy(new) + entropy(baseline)
    total = entropy(ends.sum(keepdims=True)) - entropy(pooled) - entropy(ends)
    return np.asarray(np.maximum(0.0, 2.0 * (cells + total)))


def apart_from_routing(strata: Sequence[Histograms]) -> list[Histograms]:
    """One feature's histograms, by kind of response, as if all stacks that are known to answer were one.

    Which of several stacks answers is up to a balancer, and where that gives each connection or each run to one of
    them, a run is one draw of its shares and not as many as it has responses: a handful of accepted runs bounds no p of
    a share. So values that accepted runs showed for one kind of response count as one, in every kind that has any of
    them; of these the commonest stands for all. What remains is whether a value came that no known stack writes.
    """
    several = [known for stratum in strata if len(known := _known(stratum.baseline)) > 1]
    return [_as_one(stratum, several) for stratum in strata]


def _known(counts: Mapping[str, int]) -> frozenset[str]:
    return frozenset(value for value, times in counts.items() if times >= BELIEVED_AFTER)


def _as_one(stratum: Histograms, several: Sequence[frozenset[str]]) -> Histograms:
    here = {value for value, times in stratum.baseline.items() if times}
    alike = frozenset().union(*(known for known in several if known & here))
    if not alike & here:
        return stratum
    commonest = max(alike & here, key=lambda value: (stratum.baseline[value], value))

    def merged(counts: Mapping[str, int]) -> Mapping[str, int]:
        found: Counter[str] = Counter()
        for value, times in counts.items():
            found[commonest if value in alike else value] += times
        return found

    return Histograms(merged(stratum.baseline), merged(stratum.new))


def stack_change(seen: Histograms) -> tuple[str, ...]:
    """New values of a deterministic feature, each seen twice or more: the serving stack was changed. Empty where the
    feature is not deterministic or shows its old value."""
    known = [value for value, times in seen.baseline.items() if times]
    if len(known) != 1 or sum(seen.baseline.values()) < DETERMINISTIC_AFTER:
        return ()
    return tuple(sorted(v for v, times in seen.new.items() if v not in known and times >= BELIEVED_AFTER))


def variant_shares(responses: Mapping[str, int]) -> dict[str, Rate]:
    """The share of traffic that each variant (a hash of the whole vector) answers, the largest first."""
    total = sum(responses.values())
    ordered = sorted(responses, key=lambda variant: (-responses[variant], variant))
    return {variant: rate(responses[variant], total) for variant in ordered}
