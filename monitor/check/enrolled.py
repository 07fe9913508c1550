"""What enrolled runs tell a plan: how noisy the endpoint is, and how far its reference is from what it may become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from monitor.config import EndpointConfig
from monitor.drift.calibration import FEWEST_DAYS
from monitor.drift.fidelity import candidate_distance
from monitor.drift.observation import Observation
from monitor.drift.response_noise import Answers, ResponseNoise, days_of, response_noise
from monitor.expectation import VARIANTS
from monitor.store import Store
from probes.plan import ProbeKind

TEMPLATE = "template"


@dataclass(frozen=True, slots=True)
class Enrolled:
    """noise: None where no prompt was answered twice; days: on so many it was seen; logprobs: whether answers have
    them, None where nobody asked; distances: by profile, and of the smallest change of the template, in nats from the
    nearest allowed profile."""

    noise: ResponseNoise | None = None
    days: int = 0
    logprobs: bool | None = None
    distances: Mapping[str, float] = field(default_factory=dict)

    @property
    def knows_days(self) -> bool:
        return self.days >= FEWEST_DAYS


def enrolled(store: Store | None, endpoint: EndpointConfig) -> Enrolled:
    """From the active baseline of the endpoint's log-probabilities."""
    allowed = () if endpoint.reference is None else endpoint.reference.allowed_profiles
    lawful = dict.fromkeys(allowed, 0.0)
    if store is None:
        return Enrolled(distances=lawful)
    known = [
        one
        for one in store.endpoints(provider=endpoint.provider, model=endpoint.model)
        if one.served_name == endpoint.name
    ]
    baselines = [store.active_baseline(one.id, ProbeKind.LOGPROBS) for one in reversed(known)]
    baseline = next((one for one in baselines if one is not None), None)
    if baseline is None:
        return Enrolled(distances=lawful)
    runs = [Answers(run.at.timestamp(), run.observations) for run in store.baseline_observations(baseline.id)]
    observations = [one for run in runs for one in run.observations]
    return Enrolled(
        response_noise(runs),
        days_of(runs),
        any(one.tokens for one in observations),
        lawful | distances(observations, allowed),
    )


def distances(observations: Sequence[Observation], allowed: Sequence[str]) -> dict[str, float]:
    """On the prompts of these answers."""
    names = {name for one in observations for name in one.expected}
    found = {name: _nearest(observations, name, allowed) for name in sorted(names)}
    known = {name: value for name, value in found.items() if value is not None}
    templates = [known.pop(name) for name in VARIANTS if name in known]
    moved = [value for value in templates if value > 0.0]
    return known | ({TEMPLATE: min(moved)} if moved else {})


def _nearest(observations: Sequence[Observation], name: str, allowed: Iterable[str]) -> float | None:
    values = []
    for profile in allowed:
        both = [one for one in observations if one.reference_tokens and {name, profile} <= one.expected.keys()]
        if both:
            values.append(candidate_distance(both, name, profile))
    return min(values, default=None)
