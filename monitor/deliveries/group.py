"""When a group of alerts is worth a notice: Alertmanager's rules, and never a resolve that nobody heard fire.

A group is what one channel knows of the alerts of one route and group key. `joined` puts an alert into it, `decide` is
asked when it is due. https://github.com/prometheus/alertmanager/blob/main/notify/notify.go has the model, DedupStage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from monitor.alerts.states import Severity
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.notice import Reason


class Hold(StrEnum):
    """What keeps an alert from counting as firing for notices."""

    ACKED = "acked"
    SILENCED = "silenced"
    MAINTENANCE = "maintenance"
    INHIBITED = "inhibited"
    FLAPPING = "flapping"


# Quiet altogether: also that it is over is told after they end only.
_QUIET = frozenset({Hold.SILENCED, Hold.MAINTENANCE})
# These end without an event of the alert, so the group has to look again.
_PASSING = _QUIET | {Hold.INHIBITED}


@dataclass(frozen=True, slots=True)
class Timing:
    """A route's three durations."""

    wait: timedelta
    interval: timedelta
    repeat: timedelta


@dataclass(frozen=True, slots=True)
class Group:
    """`told_firing`: the alerts announced as firing and not yet as resolved, with the severity that was announced."""

    members: tuple[str, ...]
    told_firing: Mapping[str, Severity]
    told_resolved: tuple[str, ...]
    told_at: datetime | None
    opened_at: datetime
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Member:
    """An alert of the group as it stands now, and what holds its notices back."""

    alert: AlertFacts
    holds: frozenset[Hold] = frozenset()

    @property
    def firing(self) -> bool:
        return self.alert.open and not self.holds

    @property
    def over(self) -> bool:
        return self.alert.resolved and not self.holds & _QUIET

    @property
    def waits(self) -> bool:
        """Whether time alone may change what is to be told of it."""
        return bool(self.holds & _PASSING) and (self.alert.open or self.alert.resolved)


@dataclass(frozen=True, slots=True)
class Decision:
    """The group afterwards, and the alerts of the notice, if there is one: `reason` says why."""

    group: Group
    reason: Reason | None = None
    alerts: tuple[AlertFacts, ...] = ()


def joined(group: Group | None, alert_id: str, timing: Timing, at: datetime) -> Group:
    """The group once something happened to an alert of it at `at`."""
    if group is None or not group.members:
        told = (None, {}, ()) if group is None else (group.told_at, group.told_firing, group.told_resolved)
        return Group((alert_id,), told[1], told[2], told[0], opened_at=at, due_at=at + timing.wait)
    due = max(at, _next_chance(group, timing))
    members = group.members if alert_id in group.members else (*group.members, alert_id)
    return replace(group, members=members, due_at=due if group.due_at is None else min(group.due_at, due))


def _next_chance(group: Group, timing: Timing) -> datetime:
    if group.told_at is None or group.told_at < group.opened_at:
        return group.opened_at + timing.wait
    return group.told_at + timing.interval


def decide(group: Group, members: Sequence[Member], timing: Timing, now: datetime) -> Decision:
    """Whether to tell, what, and when to ask again. `members` are those of the group's alerts that still exist."""
    firing = [member.alert for member in members if member.firing]
    over = [member.alert for member in members if member.over and member.alert.id in group.told_firing]
    reason = _reason(group, firing, over, members, timing, now)
    after = _after(group, members, firing, over, told=reason is not None, now=now)
    after = replace(after, due_at=_due(after, members, firing, timing, now))
    return Decision(after, reason, (*firing, *over) if reason else ())


def _reason(
    group: Group,
    firing: Sequence[AlertFacts],
    over: Sequence[AlertFacts],
    members: Sequence[Member],
    timing: Timing,
    now: datetime,
) -> Reason | None:
    if any(_is_news(group, alert) for alert in firing):
        return Reason.NEW_ALERTS if group.told_firing else Reason.FIRST
    if over:
        left = {member.alert.id for member in members} & set(group.told_firing) - {alert.id for alert in over}
        return Reason.NEW_RESOLVED if left else Reason.ALL_RESOLVED
    if firing and group.told_at is not None and group.told_at + timing.repeat <= now:
        return Reason.REPEAT
    return None


def _is_news(group: Group, alert: AlertFacts) -> bool:
    told = group.told_firing.get(alert.id)
    return told is None or alert.severity.rank > told.rank


def _after(
    group: Group,
    members: Sequence[Member],
    firing: Iterable[AlertFacts],
    over: Sequence[AlertFacts],
    *,
    told: bool,
    now: datetime,
) -> Group:
    kept = tuple(
        member.alert.id
        for member in members
        if not member.alert.resolved or (not member.over and member.alert.id in group.told_firing)
    )
    known = {alert_id: severity for alert_id, severity in group.told_firing.items() if alert_id in kept}
    if not told:
        return replace(group, members=kept, told_firing=known)
    announced = known | {alert.id: alert.severity for alert in firing}
    return replace(
        group,
        members=kept,
        told_firing=announced,
        told_resolved=tuple(alert.id for alert in over),
        told_at=now,
    )


def _due(
    group: Group, members: Sequence[Member], firing: Sequence[AlertFacts], timing: Timing, now: datetime
) -> datetime | None:
    times = [now + timing.interval] if any(m.waits and m.alert.id in group.members for m in members) else []
    if firing and group.told_at is not None:
        times.append(group.told_at + timing.repeat)
    return min(times, default=None)
