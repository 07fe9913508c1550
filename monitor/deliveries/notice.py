"""One message to people, before it is written in any format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from monitor.deliveries.facts import AlertFacts


class NoticeType(StrEnum):
    """The `type` of a message; docs/webhooks.md has a heading for each."""

    FIRING = "alert.firing"
    RESOLVED = "alert.resolved"
    ACKNOWLEDGED = "alert.acknowledged"
    FLAPPING = "alert.flapping"
    RUN_FINISHED = "run.finished"
    FINGERPRINT_CHANGED = "provider.fingerprint_changed"
    STACK_CHANGED = "provider.stack_changed"
    BUDGET_EXHAUSTED = "budget.exhausted"
    DEGRADED = "monitor.degraded"
    TEST = "webhook.test"


# What a channel that names no `events` hears: everything but each single run.
USUAL_EVENTS = frozenset(NoticeType) - {NoticeType.RUN_FINISHED}


class Reason(StrEnum):
    """Why a notice is sent: Alertmanager's words, and our own below them."""

    FIRST = "first_notification"
    NEW_ALERTS = "new_alerts_in_group"
    NEW_RESOLVED = "new_resolved_alerts"
    ALL_RESOLVED = "all_alerts_resolved"
    REPEAT = "repeat_interval_elapsed"
    FIRED_AND_RESOLVED = "fired_and_resolved"
    ACKNOWLEDGED = "acknowledged"
    FLAPPING = "flapping"
    EVENT = "event"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Notice:
    """`alerts` are in the order in which they matter; `data` is what an event that is no alert says of itself."""

    type: NoticeType
    reason: Reason
    at: datetime
    channel: str
    group_key: str
    alerts: Sequence[AlertFacts] = ()
    group_labels: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    external_url: str = ""

    @property
    def status(self) -> str:
        """`firing` while any of its alerts is; an event is its own status."""
        if not self.alerts:
            return "firing" if self.type is NoticeType.DEGRADED else "info"
        return "resolved" if all(alert.resolved for alert in self.alerts) else "firing"
