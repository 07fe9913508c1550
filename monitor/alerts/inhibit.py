"""Which alerts say nothing of their own, because a larger fault explains them (SERVICE.md 3.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from monitor.alerts.rule import Watch
from monitor.alerts.states import AlertState

# Faults of a whole provider; any other error of one endpoint says nothing of its neighbours.
PROVIDER_FAULTS = frozenset({"provider_unreachable", "provider_auth", "provider_quota"})


@dataclass(frozen=True, slots=True)
class Subject:
    """What inhibition asks of an alert; `error` is the code of an availability alert's last failure."""

    id: str
    watches: Watch
    state: AlertState
    labels: Mapping[str, str]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is wrong on our side: the connectivity canary fails; the models whose reference engine is unhealthy, and
    those whose control moved, so that a difference to it may be ours."""

    offline: bool = False
    unhealthy_references: frozenset[str] = frozenset()
    moved_controls: frozenset[str] = frozenset()


def inhibited_by(alert: Subject, others: Iterable[Subject], conditions: Conditions) -> str | None:
    """What speaks for the alert: `connectivity`, `reference`, `control`, or the id of another alert; None: nothing."""
    if conditions.offline:
        return "connectivity"
    if alert.watches is Watch.DRIFT:
        model = alert.labels.get("model")
        if model in conditions.unhealthy_references:
            return "reference"
        if model in conditions.moved_controls:
            return "control"
    if alert.watches is Watch.AVAILABILITY:
        return None
    return next((other.id for other in others if _explains(other, alert)), None)


def _explains(other: Subject, alert: Subject) -> bool:
    if other.watches is not Watch.AVAILABILITY or other.state is not AlertState.ERROR:
        return False
    label = "provider" if other.error in PROVIDER_FAULTS else "endpoint"
    return label in alert.labels and alert.labels[label] == other.labels.get(label)
