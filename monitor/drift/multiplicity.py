"""Many questions at once: the families of one run, and all endpoints of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from monitor.drift.rule import holm

Name = TypeVar("Name", bound=str)


class Family(StrEnum):
    """What one run is asked, each question with the error of its own."""

    AVAILABILITY = "availability"
    CONFORMANCE = "conformance"
    TRIGGER = "trigger"
    ARGUMENTS = "arguments"
    TWINS = "twins"
    LOOP = "loop"
    PROFILE = "profile"
    LATENCY = "latency"
    LOGPROBS = "logprobs"


def across_families(p_values: Mapping[Name, Sequence[float]]) -> dict[Name, float]:
    """Adjusted p of every family that was asked anything: Bonferroni's inside it, Holm's over all of them."""
    asked = {family: min(1.0, len(p) * min(p)) for family, p in p_values.items() if p}
    adjusted = holm({str(family): p for family, p in asked.items()})
    return {family: adjusted[str(family)] for family in asked}


def e_bh(e_values: Mapping[str, float], alpha: float) -> frozenset[str]:
    """The endpoints that changed, of whom on average a share of at most alpha did not, whatever they have in common.

    e-BH (Wang & Ramdas 2022): the k largest, for the largest k whose smallest e-value is at least K / (alpha k). This
    holds at any one time of looking, not for all ever listed.
    """
    ordered = sorted(e_values, key=lambda name: e_values[name], reverse=True)
    kept = 0
    for k, name in enumerate(ordered, start=1):
        if e_values[name] >= len(ordered) / (alpha * k):
            kept = k
    return frozenset(ordered[:kept])
