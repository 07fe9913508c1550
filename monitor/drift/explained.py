"""What a run's log-probabilities say of causes that the reference computed: how well each candidate explains them, and
how large the shift is beside what each would make."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from monitor.drift.attribution import Suspect, suspects
from monitor.drift.causes import fit
from monitor.drift.discriminating import Kind
from monitor.drift.fidelity import candidate_distance
from monitor.drift.findings import Finding
from monitor.drift.material import Material, Reference, measured_candidates
from monitor.drift.observation import Observation
from monitor.drift.rule import LAWFUL_SHIFT
from monitor.drift.ruler import UNIT, read, size_odds
from monitor.drift.run_sightings import error_of

# Of so many candidates, the best ones, it is computed what it takes to tell them apart.
_APART = 4


@dataclass(frozen=True, slots=True)
class Explained:
    """By candidate, in nats, as `attribute` takes them; divergences: KL(first ‖ second) a first token. ruler: the shift
    beside what profiles would make, in words, where its size is known."""

    likelihoods: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)
    divergences: Mapping[tuple[str, str], float] = field(default_factory=dict)
    ruler: str | None = None


def explained(material: Material, found: Finding) -> Explained:
    """found: of the run's log-probabilities against their past. Nothing is said without a reference that has weights,
    and while it is taken to have moved itself."""
    reference = material.reference
    if reference is None or reference.endpoint is not None or reference.held is not None or found.value is None:
        return Explained()
    distances = _distances(material.new, reference)
    likelihoods = _likelihoods(material, reference)
    best = sorted(likelihoods, key=lambda name: -likelihoods[name])[:_APART]
    error = 0.0 if found.interval is None else error_of(found.interval)
    ruler = read(found.value, found.interval, distances, lawful=LAWFUL_SHIFT).text if UNIT in distances else None
    sizes = size_odds(found.value, error, distances)
    return Explained(likelihoods, sizes, _divergences(material.new, best), ruler)


def suspects_of(names: Collection[str]) -> tuple[Suspect, ...]:
    """Every kind of cause, and the reference's candidates of these names."""
    templates = sorted(name for name in names if name.startswith("template:"))
    prompts = sorted(name for name in names if ":" in name and not name.startswith("template:"))
    caches = sorted(name for name in names if "-kv-" in name)
    profiles = sorted({*names} - {*templates, *prompts, *caches})
    found = suspects(profiles=profiles, templates=templates, caches=caches)
    return (*found, *(Suspect(name, Kind.SYSTEM_PROMPT) for name in prompts))


def _others(reference: Reference) -> list[str]:
    return [name for name in reference.candidates if name not in reference.allowed]


def _distances(observations: Sequence[Observation], reference: Reference) -> dict[str, float]:
    """Of the profiles that are not allowed from the reference's own, on the prompts that were scored under them."""
    found = {}
    for name in _others(reference):
        both = [one for one in observations if one.reference_tokens and {name, reference.base} <= one.expected.keys()]
        if both and ":" not in name:
            found[name] = candidate_distance(both, name, reference.base)
    return {name: distance for name, distance in found.items() if 0.0 < distance < np.inf}


def _likelihoods(material: Material, reference: Reference) -> dict[str, float]:
    """Of normal residuals of each candidate's own scale, one value a prompt, beyond that of what was believed before,
    as a run's causes are ranked; nothing where only those were scored that a verdict takes."""
    scales = fit(material.new, reference.candidates)
    if not scales or {*reference.candidates} <= {*measured_candidates(reference.allowed)}:
        return {}
    before = fit(material.same_reference, reference.candidates) or fit(
        material.same_reference, measured_candidates(reference.allowed)
    )
    held = min(before, key=lambda name: before[name]) if before else reference.base
    prompts = len({one.item_key for one in material.new if {*reference.candidates} <= one.expected.keys()})
    return {name: prompts * float(np.log(scales[held] / scales[name])) for name in _others(reference) if name != held}


def _divergences(observations: Iterable[Observation], names: Sequence[str]) -> dict[tuple[str, str], float]:
    """Over the tokens that the reference lists, and all others together."""
    scored = [one for one in observations if one.reference_tokens and {*names} <= one.expected.keys()]
    found: dict[tuple[str, str], float] = {}
    for first, second in permutations(names, 2) if scored else ():
        pairs = [(_with_rest(one.expected[first]), _with_rest(one.expected[second])) for one in scored]
        found[first, second] = float(np.mean([(p * (np.log(p) - np.log(q))).sum() for p, q in pairs]))
    return found


def _with_rest(logprobs: np.ndarray) -> np.ndarray:
    chances = np.maximum(np.exp(logprobs), 1e-12)
    every = np.append(chances, max(1e-12, 1.0 - float(chances.sum())))
    return np.asarray(every / every.sum())
