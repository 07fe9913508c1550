"""Several stacks behind one endpoint: how often each value and each whole profile came, and which samples are whose.

The counts are what shares and their changes are judged by; nothing is judged here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from probes.plan import Sample
from probes.profile.extract import profiles_of
from probes.profile.features import Feature, Profile

SampleKey = tuple[str, int]


def hash_counts(profiles: Iterable[Profile]) -> Mapping[str, Counter[str]]:
    """How often each joint hash came, for each kind of response."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for profile in profiles:
        found[profile.kind][profile.hash] += 1
    return dict(found)


def variant_counts(profiles: Iterable[Profile]) -> Counter[str]:
    """How often each variant came, over all good responses."""
    return Counter(profile.variant for profile in profiles if _is_of_an_answer(profile))


def feature_counts(profiles: Iterable[Profile]) -> Mapping[str, Mapping[Feature, Counter[str]]]:
    """How often each value of each feature came, for each kind of response."""
    found: dict[str, dict[Feature, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for profile in profiles:
        for feature, value in profile.features.items():
            found[profile.kind][feature][value] += 1
    return {kind: dict(features) for kind, features in found.items()}


def variants_of(samples: Iterable[Sample]) -> Mapping[SampleKey, str]:
    """The variant that gave each sample its answer, by item key and repeat."""
    return {
        (sample.item.key, sample.item.rep): profile.variant
        for sample, profile in profiles_of(samples)
        if _is_of_an_answer(profile)
    }


def _is_of_an_answer(profile: Profile) -> bool:
    return Feature.ID in profile.features
