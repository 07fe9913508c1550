"""What people decide about an open alert, and what follows from changes around it."""

from __future__ import annotations

from datetime import datetime

from monitor.alerts.core import AlertCore
from monitor.alerts.events import MACHINE, EventKind, Moving, Stepped
from monitor.alerts.flapping import STILL
from monitor.alerts.rule import Watch
from monitor.alerts.signals import (
    Acked,
    BaselineAccepted,
    Commented,
    Decided,
    ResolvedByHand,
    RuleChanged,
    Unacked,
    Widened,
)
from monitor.alerts.states import AlertState


def decided(core: AlertCore | None, signal: Decided) -> Stepped:
    """A decision about an alert that is over, or that says what is so already, changes nothing."""
    if core is None or not core.open:
        return Stepped(core)
    moved = _moved(Moving(core), signal)
    return Stepped(moved.core, moved.events)


def _moved(moving: Moving, signal: Decided) -> Moving:
    match signal:
        case Acked():
            return _acked(moving, signal)
        case Unacked():
            return _unacked(moving, EventKind.UNACKED, signal.at, "acknowledgement taken back", signal.actor)
        case Widened():
            return _unacked(moving, EventKind.REOPENED, signal.at, f"{signal.metric} fired too", MACHINE)
        case Commented():
            return moving.to(moving.core.state, EventKind.COMMENTED, signal.at, signal.text, actor=signal.actor)
        case ResolvedByHand():
            kind = EventKind.RESOLVED if moving.core.fired else EventKind.CLOSED
            return _ended(moving, kind, signal.at, signal.note or "resolved by hand", signal.actor)
        case RuleChanged():
            return _ended(moving, EventKind.RULE_CHANGED, signal.at, "the rule has changed", signal.actor)
        case BaselineAccepted() if moving.core.watches is Watch.DRIFT:
            return _ended(moving, EventKind.BASELINE_ACCEPTED, signal.at, signal.note, signal.actor)
    return moving


def _acked(moving: Moving, signal: Acked) -> Moving:
    core = moving.core
    if core.acked_at is not None:
        return moving
    return moving.to(
        core.state,
        EventKind.ACKED,
        signal.at,
        signal.note,
        actor=signal.actor,
        notice=core.fired,
        acked_at=signal.at,
        acked_by=signal.actor,
    )


def _unacked(moving: Moving, kind: EventKind, at: datetime, reason: str, actor: str) -> Moving:
    core = moving.core
    if core.acked_at is None:
        return moving
    notice = core.fired and kind is EventKind.REOPENED
    return moving.to(core.state, kind, at, reason, actor=actor, notice=notice, acked_at=None, acked_by=None)


def _ended(moving: Moving, kind: EventKind, at: datetime, reason: str, actor: str) -> Moving:
    """Over, and how it swung is forgotten with it: that was before somebody stepped in."""
    return moving.to(
        AlertState.RESOLVED,
        kind,
        at,
        reason,
        actor=actor,
        notice=moving.core.fired,
        resolved_at=max(at, moving.core.changed_at),
        flapping=False,
        swings=STILL,
    )
