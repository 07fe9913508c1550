"""Several stacks behind one endpoint: how often each of them came, and each value of each feature.

The counts are what shares and their changes are judged by; nothing is judged here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from probes.profile.features import Feature, Profile

SampleKey = tuple[str, int]


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


def _is_of_an_answer(profile: Profile) -> bool:
    return Feature.ID in profile.features
