"""What a step leaves behind: the alert's next state, and the events that led there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from monitor.alerts.core import AlertCore
from monitor.alerts.states import AlertState

MACHINE = "monitor"


class EventKind(StrEnum):
    """`closed`: over without having fired. `refired`: bad again before it had resolved. `reopened`: an
    acknowledgement no longer holds. `calm`: it fires on, and no longer flaps."""

    OPENED = "opened"
    CLOSED = "closed"
    FIRED = "fired"
    RECOVERING = "recovering"
    REFIRED = "refired"
    RESOLVED = "resolved"
    ESCALATED = "escalated"
    FLAPPING = "flapping"
    CALM = "calm"
    ACKED = "acked"
    UNACKED = "unacked"
    REOPENED = "reopened"
    COMMENTED = "commented"
    BASELINE_ACCEPTED = "baseline_accepted"
    RULE_CHANGED = "rule_changed"


@dataclass(frozen=True, slots=True)
class Event:
    """`notice`: people are to hear of it, unless a silence, a maintenance window or another alert holds it back."""

    kind: EventKind
    from_state: AlertState | None
    to_state: AlertState
    at: datetime
    reason: str
    actor: str
    notice: bool


@dataclass(frozen=True, slots=True)
class Stepped:
    """`core` None: there is no alert, and never was one."""

    core: AlertCore | None
    events: tuple[Event, ...] = ()

    @property
    def opened(self) -> bool:
        """Whether this step began a new episode, which is a new alert."""
        return any(event.kind is EventKind.OPENED for event in self.events)


@dataclass(frozen=True, slots=True)
class Moving:
    """An alert in the middle of a step."""

    core: AlertCore
    events: tuple[Event, ...] = ()

    @classmethod
    def opening(cls, core: AlertCore, reason: str) -> Moving:
        return cls(core, (Event(EventKind.OPENED, None, core.state, core.opened_at, reason, MACHINE, notice=False),))

    def with_core(self, core: AlertCore) -> Moving:
        """The same with something of the core changed that is no event."""
        return Moving(core, self.events)

    def to(
        self,
        state: AlertState,
        kind: EventKind,
        at: datetime,
        reason: str,
        *,
        actor: str = MACHINE,
        notice: bool = False,
        **changes: Any,
    ) -> Moving:
        """The alert in `state`, by an event whose time is never before the last one's."""
        at = max(at, self.core.changed_at)
        event = Event(kind, self.core.state, state, at, reason, actor, notice)
        return Moving(replace(self.core, state=state, changed_at=at, **changes), (*self.events, event))
