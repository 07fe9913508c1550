"""Which alerts say nothing of their own, because a larger fault explains them (SERVICE.md 3.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from monitor.alerts.rule import Watch
from monitor.alerts.states import AlertState

# Faults of a whole provider; any other error of one endpoint says nothing of its neighbours.
PROVIDER_FAULTS = frozenset({"provider_unreachable", "provider_auth", "provider_quota"})


@dataclass(frozen=True, slots=True)
class Subject:
    """What inhibition asks of an alert; `error` is the code of an availability alert's last failure. What a drift
    alert is about came after `since` (None: nobody knows) and before `until`."""

    id: str
    watches: Watch
    state: AlertState
    labels: Mapping[str, str]
    error: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class MovedControl:
    """A control in which a drift was found: it moved after `since` (None: nobody knows) and before `until`."""

    endpoint: str
    model: str
    since: datetime | None
    until: datetime

    def explains(self, alert: Subject) -> bool:
        """Whether what the alert is about may have come when the control moved, from whatever moved that."""
        if self.model != alert.labels.get("model") or self.endpoint == alert.labels.get("endpoint"):
            return False
        before = self.since is None or alert.until is None or self.since <= alert.until
        return before and (alert.since is None or alert.since <= self.until)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is wrong on our side: the connectivity canary fails; the models whose reference engine is unhealthy; the
    controls that moved, so that a difference found in their model then may be ours."""

    offline: bool = False
    unhealthy_references: frozenset[str] = frozenset()
    moved_controls: tuple[MovedControl, ...] = ()


def inhibited_by(alert: Subject, others: Iterable[Subject], conditions: Conditions) -> str | None:
    """What speaks for the alert: `connectivity`, `reference`, `control`, or the id of another alert; None: nothing."""
    if conditions.offline:
        return "connectivity"
    if alert.watches is Watch.DRIFT:
        if alert.labels.get("model") in conditions.unhealthy_references:
            return "reference"
        if any(control.explains(alert) for control in conditions.moved_controls):
            return "control"
    if alert.watches is Watch.AVAILABILITY:
        return None
    return next((other.id for other in others if _explains(other, alert)), None)


def _explains(other: Subject, alert: Subject) -> bool:
    if other.watches is not Watch.AVAILABILITY or other.state is not AlertState.ERROR:
        return False
    label = "provider" if other.error in PROVIDER_FAULTS else "endpoint"
    return label in alert.labels and alert.labels[label] == other.labels.get(label)
