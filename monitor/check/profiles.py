"""How a serving stack writes, as it may be kept, and which of several stacks gave an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from monitor.store.text import foreign_id, foreign_text
from probes.plan import Sample
from probes.profile.envelope_features import AS_ASKED
from probes.profile.extract import common_of
from probes.profile.features import Feature, Profile
from probes.profile.variants import SampleKey
from probes.redaction import Redactor

_LONGEST_VALUE = 400
# An endpoint may repeat there what it was asked.
_NAMES = frozenset({Feature.ID, Feature.MODEL, Feature.SYSTEM_FINGERPRINT, Feature.FINISH})
# It takes out of texts what stands in prompts; the keys of this process are the store's to take out.
_UNKNOWING = Redactor(())


def clean(profile: Profile, request: Mapping[str, Any]) -> Profile:
    """Without what an endpoint may repeat of us."""
    return replace(profile, features={name: _kept(name, text, request) for name, text in profile.features.items()})


def variant_of(sample: Sample) -> str | None:
    """The stack that gave the answer, by a digest that is the same for all its answers; None where none came."""
    found = common_of(sample)
    return None if found is None else clean(found, sample.request).variant


def variants_of(samples: Iterable[Sample]) -> dict[SampleKey, str]:
    """By item and repeat, of the samples that have an answer."""
    found = ((sample.item, variant_of(sample)) for sample in samples)
    return {(item.key, item.rep): variant for item, variant in found if variant is not None}


def _kept(feature: Feature, value: str, request: Mapping[str, Any]) -> str:
    cleaned = foreign_id if feature in _NAMES and value != AS_ASKED else foreign_text
    return cleaned(_UNKNOWING.excerpt(value, request, limit=_LONGEST_VALUE), _LONGEST_VALUE) or ""
