"""Many questions at once: the families of one run, the probes of one check, all endpoints of the page, and epochs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self, TypeVar

from monitor.drift.rule import holm

Name = TypeVar("Name", bound=str)

# Of a check of all probes, and of what its tool calls add up to with those before.
MOST_SHARES = 9


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


def shared(p_values: Mapping[Name, float], shares: int) -> dict[Name, float]:
    """p of a probe's tests, adjusted already for each other, adjusted for the other probes of its check as well, which
    have as large a share of the error each. That is Bonferroni's where Holm's would do: probes are judged one after the
    other, and what was found of the first is written down before the last is judged."""
    return {name: min(1.0, shares * p) for name, p in p_values.items()}


def across_families(p_values: Mapping[Name, Sequence[float]], shares: int = 1) -> dict[Name, float]:
    """Adjusted p of every family that was asked anything: Bonferroni's inside it, Holm's over all of them, and what the
    `shares` of the check ask."""
    asked = {family: min(1.0, len(p) * min(p)) for family, p in p_values.items() if p}
    adjusted = holm({str(family): p for family, p in asked.items()})
    return shared({family: adjusted[str(family)] for family in asked}, shares)


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


def provider_wide(e_values: Collection[float]) -> float:
    """Of a provider's endpoints as one, "the provider changed something": the average, as they have much in common."""
    return sum(e_values) / len(e_values) if e_values else 1.0


@dataclass(frozen=True, slots=True)
class ELond:
    """Which epochs, one after another for ever, are listed as changed: of these a share of at most α is not, on average
    (e-LOND, Xu & Ramdas 2024, arXiv:2311.06412). Epoch t is listed where E ≥ 1 / αₜ with
    αₜ = α γₜ (listed before + 1) and γₜ = 1 / (t (t + 1)), whatever the epochs have in common.
    """

    alpha: float
    epochs: int = 0
    listed: int = 0

    @property
    def needed(self) -> float:
        """The e-value that lists the next epoch."""
        following = self.epochs + 1
        return following * (following + 1) / (self.alpha * (self.listed + 1))

    def after(self, e_value: float) -> Self:
        return replace(self, epochs=self.epochs + 1, listed=self.listed + (e_value >= self.needed))
