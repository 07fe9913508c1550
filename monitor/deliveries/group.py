"""When a group of alerts is worth a notice: Alertmanager's rules, and never a resolve that nobody heard fire.

A group is what one channel knows of the alerts of one route and group key. `joined` puts an alert into it, `decide` is
asked when it is due. https://github.com/prometheus/alertmanager/blob/main/notify/notify.go has the model, DedupStage.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from monitor.alerts.states import Severity
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.notice import USUAL_EVENTS, NoticeType, Reason


class Hold(StrEnum):
    """What keeps an alert from counting as firing for notices. `unrouted`: no route leads to the channel any more."""

    ACKED = "acked"
    SILENCED = "silenced"
    MAINTENANCE = "maintenance"
    INHIBITED = "inhibited"
    FLAPPING = "flapping"
    UNROUTED = "unrouted"


# Quiet altogether: also that it is over is told after they end only.
_QUIET = frozenset({Hold.SILENCED, Hold.MAINTENANCE})
# These end without an event of the alert, so the group has to look again.
PASSING = _QUIET | {Hold.INHIBITED, Hold.UNROUTED}


@dataclass(frozen=True, slots=True)
class Timing:
    """A route's three durations."""

    wait: timedelta
    interval: timedelta
    repeat: timedelta


@dataclass(frozen=True, slots=True)
class Group:
    """`told_firing`: the alerts announced and not yet told to be over, with the severity that was announced;
    `told_flapping`: those of them that were last said to flap."""

    members: tuple[str, ...]
    told_firing: Mapping[str, Severity]
    told_resolved: tuple[str, ...]
    told_at: datetime | None
    opened_at: datetime
    due_at: datetime | None
    told_flapping: frozenset[str] = frozenset()


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

    def swung(self, group: Group) -> bool:
        """Whether it began to flap, or is calm again, and the group was not told so."""
        told = self.alert.id in group.told_flapping
        return self.alert.open and not self.holds & PASSING and told != (Hold.FLAPPING in self.holds)

    @property
    def waits(self) -> bool:
        """Whether time alone may change what is to be told of it."""
        return bool(self.holds & PASSING) and (self.alert.open or self.alert.resolved)


@dataclass(frozen=True, slots=True)
class Decision:
    """The group afterwards, and the alerts of the notice, if there is one: `reason` says why."""

    group: Group
    reason: Reason | None = None
    alerts: tuple[AlertFacts, ...] = ()


def joined(group: Group | None, alert_id: str, timing: Timing, at: datetime) -> Group:
    """The group once something happened to an alert of it at `at`."""
    if group is None:
        group = Group((), {}, (), None, opened_at=at, due_at=None)
    if not group.members:
        return replace(group, members=(alert_id,), opened_at=at, due_at=at + timing.wait)
    due = max(at, _next_chance(group, timing))
    members = group.members if alert_id in group.members else (*group.members, alert_id)
    return replace(group, members=members, due_at=due if group.due_at is None else min(group.due_at, due))


def without(group: Group, alert_id: str) -> Group:
    """The group without one of its alerts."""
    members = tuple(name for name in group.members if name != alert_id)
    told = {name: severity for name, severity in group.told_firing.items() if name != alert_id}
    due_at = group.due_at if members else None
    return replace(
        group, members=members, told_firing=told, told_flapping=group.told_flapping - {alert_id}, due_at=due_at
    )


def inherited(group: Group, alert_id: str, source: Group) -> Group:
    """The group once it knows of an alert what `source`, which the alert comes from, was told."""
    if alert_id not in source.told_firing:
        return group
    times = [at for at in (group.told_at, source.told_at) if at is not None]
    return replace(
        group,
        told_firing={**group.told_firing, alert_id: source.told_firing[alert_id]},
        told_flapping=group.told_flapping | source.told_flapping & {alert_id},
        told_at=max(times, default=None),
    )


def _next_chance(group: Group, timing: Timing) -> datetime:
    if group.told_at is None or group.told_at < group.opened_at:
        return group.opened_at + timing.wait
    return group.told_at + timing.interval


@dataclass(frozen=True, slots=True)
class _News:
    """What there is to say: alerts that fire, that are over, and that began to flap or are calm again."""

    firing: tuple[AlertFacts, ...]
    over: tuple[AlertFacts, ...]
    swung: tuple[AlertFacts, ...]

    def of(self, reason: Reason | None) -> tuple[AlertFacts, ...]:
        if reason is None:
            return ()
        return self.swung if reason is Reason.FLAPPING else (*self.firing, *self.over)


def decide(
    group: Group,
    members: Sequence[Member],
    timing: Timing,
    now: datetime,
    heard: Collection[NoticeType] = USUAL_EVENTS,
) -> Decision:
    """Whether to tell, what, and when to ask again. `members` are those of the group's alerts that still exist;
    `heard` is what the channel hears: it was not told of flapping if it does not listen to that."""
    news = _News(
        tuple(member.alert for member in members if member.firing),
        tuple(member.alert for member in members if member.over and member.alert.id in group.told_firing),
        _swung(group, members, heard),
    )
    reason = _reason(group, news, members, timing, now)
    after = _after(group, members, news.of(reason), now)
    left = _swung(after, members, heard)
    due_at = _due(after, members, timing, now, firing=bool(news.firing), left=bool(left))
    return Decision(replace(after, due_at=due_at), reason, news.of(reason))


def _swung(group: Group, members: Sequence[Member], heard: Collection[NoticeType]) -> tuple[AlertFacts, ...]:
    if NoticeType.FLAPPING not in heard:
        return ()
    return tuple(member.alert for member in members if member.swung(group))


def _reason(group: Group, news: _News, members: Sequence[Member], timing: Timing, now: datetime) -> Reason | None:
    if any(_is_news(group, alert) for alert in news.firing):
        return Reason.NEW_ALERTS if group.told_firing else Reason.FIRST
    if news.over:
        left = {member.alert.id for member in members} & set(group.told_firing) - {alert.id for alert in news.over}
        return Reason.NEW_RESOLVED if left else Reason.ALL_RESOLVED
    if news.swung:
        return Reason.FLAPPING
    if news.firing and group.told_at is not None and group.told_at + timing.repeat <= now:
        return Reason.REPEAT
    return None


def _is_news(group: Group, alert: AlertFacts) -> bool:
    told = group.told_firing.get(alert.id)
    return told is None or alert.severity.rank > told.rank


def _after(group: Group, members: Sequence[Member], told: Sequence[AlertFacts], now: datetime) -> Group:
    """The group once it was told of these alerts."""
    kept = tuple(
        member.alert.id
        for member in members
        if not member.alert.resolved or (not member.over and member.alert.id in group.told_firing)
    )
    known = {alert_id: severity for alert_id, severity in group.told_firing.items() if alert_id in kept}
    announced = {alert.id: alert.severity for alert in told if alert.open}
    flapping = {member.alert.id for member in members if Hold.FLAPPING in member.holds}
    after = replace(
        group,
        members=kept,
        told_firing=known | announced,
        told_flapping=(group.told_flapping & known.keys()) - announced.keys() | announced.keys() & flapping,
    )
    over = tuple(alert.id for alert in told if alert.resolved)
    return replace(after, told_resolved=over, told_at=now) if told else after


def _due(
    group: Group, members: Sequence[Member], timing: Timing, now: datetime, *, firing: bool, left: bool
) -> datetime | None:
    waits = any(member.waits and member.alert.id in group.members for member in members)
    times = [now + timing.interval] if waits or left else []
    if firing and group.told_at is not None:
        times.append(group.told_at + timing.repeat)
    return min(times, default=None)
