"""What changed: causes ranked by what all tiers saw and by the likelihoods that the engine computed, with the evidence
in words and the tokens it would take to tell the first two apart.

Features are taken as independent given the cause, and the table's chances are rough: weights rank, and promise nothing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.cause import Cause
from monitor.drift.discriminating import Kind, chances
from monitor.drift.features import Feature
from monitor.drift.observation import FloatArray
from monitor.drift.sightings import Sighting

# Of the engine's evidence, in nats; beyond it several features can still speak against a candidate.
_MOST = 30.0
# What the engine has no likelihood for may explain half of what the best candidate explains, as `causes` has it.
_UNLISTED_SHARE = 0.5
# Causes that leave the chances of sampled tokens as they are.
_SAME_TOKENS = frozenset({Kind.TOOL_PARSER, Kind.CACHE, Kind.ENGINE})
# Times likelier, or less likely, than under the other causes, from which on evidence is told.
_TOLD = 1.5


@dataclass(frozen=True, slots=True)
class Suspect:
    """A cause by name: a profile, a template variant, a model, or the kind itself for one that is not listed."""

    name: str
    kind: Kind


NONE = Suspect(Kind.NONE.value, Kind.NONE)


@dataclass(frozen=True, slots=True)
class Separation:
    """tokens: sampled ones that would tell `first` from `second` at α; None where that is not known, or never."""

    first: str
    second: str
    tokens: int | None
    words: str


@dataclass(frozen=True, slots=True)
class Attributed:
    """`apart` is from the cause ranked next."""

    cause: Cause
    kind: Kind
    evidence: tuple[str, ...]
    against: tuple[str, ...]
    apart: Separation | None


@dataclass(frozen=True, slots=True)
class Attribution:
    """Causes, best first, `none-of-these` among them; their weights sum to 1. unseen: features without a sighting."""

    ranked: tuple[Attributed, ...]
    unseen: tuple[Feature, ...]

    @property
    def best(self) -> Attributed:
        return self.ranked[0]

    @property
    def kinds(self) -> Mapping[Kind, float]:
        """Belief in each kind, all its suspects together, best first."""
        total: dict[Kind, float] = defaultdict(float)
        for one in self.ranked:
            total[one.kind] += one.cause.weight
        return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def suspects(
    profiles: Sequence[str] = (), templates: Sequence[str] = (), models: Sequence[str] = (), caches: Sequence[str] = ()
) -> tuple[Suspect, ...]:
    """Every kind of cause by its own name, which stands for a candidate that is not listed, and those that are.
    caches: profiles that differ in how keys and values are stored alone."""
    named = {Kind.WEIGHTS: profiles, Kind.TEMPLATE: templates, Kind.SWAP: models, Kind.KV_CACHE: caches}
    kinds = [kind for kind in Kind if kind is not Kind.NONE]
    return tuple(Suspect(name, kind) for kind in kinds for name in (kind.value, *named.get(kind, ())))


def attribute(
    seen: Sequence[Sighting],
    among: Sequence[Suspect],
    *,
    likelihoods: Mapping[str, float] | None = None,
    sizes: Mapping[str, float] | None = None,
    divergences: Mapping[tuple[str, str], float] | None = None,
    alpha: float = 1e-3,
) -> Attribution:
    """Ranks suspects and `NONE`. Beforehand each kind has an equal share, split evenly among its suspects.

    likelihoods: by suspect, log-likelihood of the sampled tokens beyond that of the best allowed hypothesis, in nats
    (`LikelihoodRatio.gains`), of those the engine computed. One that it did not compute is not taken for unlikely: it
    may explain half of what the best one does. sizes: log-odds by suspect (`size_odds`). divergences: KL(first ‖
    second) in nats a token, for what it takes to tell them apart: log(1/α) / KL tokens of the first, on average (Wald).

    Raises ValueError for two sightings of one feature, two suspects of one name, names that are no suspect's, and
    values that are not finite.
    """
    likelihoods, sizes, divergences = likelihoods or {}, sizes or {}, divergences or {}
    every = sorted({*among, NONE}, key=lambda one: one.name)
    _check(seen, every, alpha)
    _check_named(every, likelihoods)
    _check_named(every, sizes)
    parts = _parts(seen, every, likelihoods, sizes)
    total = np.sum([np.log(_beforehand(every)), *parts.values()], axis=0)
    weights = np.exp(total - np.logaddexp.reduce(total))
    order = sorted(range(len(every)), key=lambda i: (-weights[i], every[i].name))
    told = {i: _told(i, parts, weights) for i in order}
    after = [every[i] for i in order[1:]]
    apart = [_apart(every[i], then, divergences, alpha) for i, then in zip(order, after, strict=False)]
    ranked = tuple(
        Attributed(Cause(every[i].name, float(weights[i])), every[i].kind, *told[i], between)
        for i, between in zip(order, [*apart, None], strict=True)
    )
    return Attribution(ranked, tuple(one for one in Feature if one not in {sighting.feature for sighting in seen}))


def _check(seen: Sequence[Sighting], every: Sequence[Suspect], alpha: float) -> None:
    if len({sighting.feature for sighting in seen}) < len(seen):
        raise ValueError(f"one sighting a feature: {[str(sighting.feature) for sighting in seen]}")
    if len({one.name for one in every}) < len(every):
        raise ValueError(f"suspects need names of their own: {[one.name for one in every]}")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha {alpha} lies between 0 and 1")


def _check_named(every: Sequence[Suspect], logs: Mapping[str, float]) -> None:
    if unknown := set(logs) - {one.name for one in every}:
        raise ValueError(f"no suspects of these names: {sorted(unknown)}")
    if not all(map(math.isfinite, logs.values())):
        raise ValueError(f"log-likelihoods are finite, and left out where not known: {dict(logs)}")


def _beforehand(every: Sequence[Suspect]) -> FloatArray:
    kinds = [one.kind for one in every]
    return np.array([1.0 / (kinds.count(kind) * len(set(kinds))) for kind in kinds])


def _parts(
    seen: Sequence[Sighting], every: Sequence[Suspect], likelihoods: Mapping[str, float], sizes: Mapping[str, float]
) -> dict[str, FloatArray]:
    """What each piece of evidence says of every suspect, as log-likelihoods, by its words."""
    parts = {}
    for sighting in sorted(seen, key=lambda one: one.feature.value):
        if sighting.says:
            table = np.log([chances(one.kind, sighting.feature) for one in every])
            parts[sighting.words] = np.logaddexp.reduce(table + np.array(sighting.logs), axis=1)
    if likelihoods:
        parts["how well it explains the sampled tokens"] = _of_tokens(every, likelihoods)
    if sizes:
        parts["the size of the shift"] = np.array([sizes.get(one.name, 0.0) for one in every])
    return parts


def _of_tokens(every: Sequence[Suspect], likelihoods: Mapping[str, float]) -> FloatArray:
    best = max(0.0, *likelihoods.values())
    most = min(best, _MOST)

    def of(one: Suspect) -> float:
        if one.name in likelihoods or one.kind in _SAME_TOKENS:
            return max(likelihoods.get(one.name, 0.0) - best, -_MOST) + most
        return _UNLISTED_SHARE * most

    return np.array([of(one) for one in every])


def _told(i: int, parts: Mapping[str, FloatArray], weights: FloatArray) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What speaks for a cause and what against it, the strongest first: how many times likelier it is than under the
    others, each by its weight."""
    others = np.where(np.arange(weights.size) == i, 0.0, weights) + 1e-300
    found = [
        (float(logs[i] - np.logaddexp.reduce(logs + np.log(others / others.sum()))), words)
        for words, logs in parts.items()
    ]
    found.sort(key=lambda one: (-abs(one[0]), one[1]))
    told = math.log(_TOLD)
    return (
        tuple(f"{words} ({_times(log)} times likelier than otherwise)" for log, words in found if log >= told),
        tuple(f"{words} ({_times(-log)} times less likely than otherwise)" for log, words in found if log <= -told),
    )


def _times(log: float) -> str:
    times = math.exp(min(log, 20.0))
    return f"{times:.1f}" if times < 9.95 else f"{times:.0f}" if times < 1_000 else "over 1,000"


def _apart(first: Suspect, second: Suspect, divergences: Mapping[tuple[str, str], float], alpha: float) -> Separation:
    between = f"{first.name} from {second.name}"
    divergence = divergences.get((first.name, second.name))
    if divergence is None or math.isnan(divergence):
        return Separation(first.name, second.name, None, f"tokens to tell {between}: not known")
    if divergence <= 0.0:
        return Separation(first.name, second.name, None, f"no number of such tokens tells {between}")
    tokens = math.ceil(math.log(1.0 / alpha) / divergence)
    return Separation(first.name, second.name, tokens, f"about {tokens:,} tokens tell {between}")
