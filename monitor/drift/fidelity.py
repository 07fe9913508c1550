"""Is the endpoint what it claims? Its distance to every allowed profile, in nats, beside what is lawful for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from monitor.drift.bootstrap import interval_of_mean
from monitor.drift.interval import Interval
from monitor.drift.observation import FloatArray, Observation
from monitor.drift.residuals import residuals

# Two builds of one fp32 engine differ by about this much on a printed log-probability.
FP32_CLOUD = 0.02
# One-sided level at which a distance counts as beyond the lawful one, and the power `detectable` speaks of.
_LEVEL = 0.99
_POWER = 0.90


@dataclass(frozen=True, slots=True)
class Distance:
    """Mean |Δ| to one candidate over prompts, in nats; `lawful` is what that candidate's own numerics explain."""

    candidate: str
    value: float
    interval: Interval | None
    lawful: float
    detectable: float

    @property
    def outside(self) -> bool:
        """The whole one-sided 99 % interval lies beyond the lawful distance."""
        return self.interval is not None and self.interval.low > self.lawful


@dataclass(frozen=True, slots=True)
class FidelityTest:
    """Distances to the allowed profiles, nearest (relative to the lawful distance) first; n prompts compared."""

    distances: tuple[Distance, ...]
    n: int

    @property
    def nearest(self) -> Distance:
        return self.distances[0]

    @property
    def outside(self) -> bool:
        return all(distance.outside for distance in self.distances)

    @property
    def detectable(self) -> float:
        """The smallest distance, to every allowed profile at once, that would have been called with 90 % power."""
        return max(distance.detectable for distance in self.distances)


def deviations(observations: Sequence[Observation], candidate: str) -> FloatArray:
    """Mean |Δ| to a candidate of each comparable prompt, repeats averaged first; nats, shape [prompts]."""
    prompts: dict[str, list[float]] = defaultdict(list)
    for observation in observations:
        if observation.reference_tokens and observation.tokens:
            prompts[observation.item_key].append(residuals(observation, [candidate]).deviation(candidate))
    means = np.array([np.mean(prompts[key]) for key in sorted(prompts)])
    kept: FloatArray = means[np.isfinite(means)]
    return kept


def candidate_distance(observations: Sequence[Observation], one: str, other: str) -> float:
    """Mean |Δ| between two candidates' expectations on the prompts of these answers, in nats: the ruler."""
    prompts = {o.item_key: o for o in observations if o.reference_tokens}
    if not prompts:
        return float("nan")
    return float(np.mean([np.abs(o.expected[one] - o.expected[other]).mean() for o in prompts.values()]))


def lawful_distance(observations: Sequence[Observation], candidate: str) -> float:
    """How far an honest endpoint of this profile may be: two bf16 stacks that round at other places differ by √2 times
    what one differs from fp32; an fp32 stack by the cloud of its builds."""
    if candidate == "fp32":
        return FP32_CLOUD
    return max(FP32_CLOUD, float(np.sqrt(2.0)) * candidate_distance(observations, "bf16", "fp32"))


def fidelity_test(
    observations: Sequence[Observation], allowed: Sequence[str], noise: float, *, seed: int = 0
) -> FidelityTest | None:
    """Distance to each allowed profile; None where no prompt could be compared.

    noise: mean |Δ| of repeats, in nats (NaN: not known, taken as none). It is taken out of every distance in squares,
    as the mean of normal magnitudes adds up, so that distances stand on the ruler of the noiseless profiles.
    """
    distances = []
    n = 0
    known_noise = noise if np.isfinite(noise) else 0.0
    for candidate in allowed:
        values = deviations(observations, candidate)
        if not values.size:
            return None
        n = int(values.size)
        distances.append(distance(values, candidate, lawful_distance(observations, candidate), known_noise, seed))
    return FidelityTest(tuple(sorted(distances, key=lambda one: one.value / one.lawful)), n)


def distance(values: FloatArray, candidate: str, lawful: float, noise: float, seed: int) -> Distance:
    """Of deviations by prompt, shape [prompts], beside a lawful distance; noise: mean |Δ| of repeats; nats."""

    def noiseless(value: float) -> float:
        return float(np.sqrt(max(0.0, value**2 - noise**2)))

    value, interval = interval_of_mean(values, level=2 * _LEVEL - 1, seed=seed)
    error = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("inf")
    reach = NormalDist().inv_cdf(_LEVEL) + NormalDist().inv_cdf(_POWER)
    return Distance(
        candidate,
        noiseless(value),
        None if interval is None else Interval(noiseless(interval.low), noiseless(interval.high), interval.level),
        lawful,
        noiseless(float(np.hypot(lawful, noise)) + reach * error),
    )
