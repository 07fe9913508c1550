"""The groups in which channels hear of alerts: what each holds, what it was told last, and when it is due."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from sqlalchemy import Text, cast, select
from sqlalchemy.orm import Session

from monitor.alerts.states import AlertState, Severity
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.group import Decision, Group, inherited, joined, without
from monitor.deliveries.routes import Target
from monitor.store import delivery_lines
from monitor.store.delivery_records import GroupId
from monitor.store.outbox import alert_facts
from monitor.store.tables import NotifyGroup

Choose = Callable[[Group, Sequence[AlertFacts]], Decision]

# The group that an alert belongs to; None where no route leads to the channel any more.
Home = Callable[[AlertFacts], Target | None]

# Between an alert's id, the severity that was announced, and _FLAPPING where it was last said to flap.
_SEPARATOR = "@"
_FLAPPING = "flapping"


def due_groups(session: Session, at: datetime, limit: int) -> list[GroupId]:
    """The groups that have to be decided by now, the longest due first."""
    query = (
        select(NotifyGroup.channel, NotifyGroup.route, NotifyGroup.group_key)
        .where(NotifyGroup.due_at <= at)
        .order_by(NotifyGroup.due_at)
        .limit(limit)
    )
    return [GroupId(*row) for row in session.execute(query)]


def join(session: Session, target: Target, alert_id: str, to_state: AlertState, at: datetime) -> None:
    """Something happened to an alert of a group. The caller holds the channel (`channel_health.lock`).

    What never fired is nobody's business, nor is the end of what the channel does not know. An alert that it knows
    under routes that were other then comes along with what was told of it.
    """
    if to_state is AlertState.PENDING:
        return
    rows = [row for row in _holding(session, alert_id) if row.channel == target.channel]
    if not rows and to_state is AlertState.RESOLVED:
        return
    row = _moved(session, rows[0], target, alert_id, at) if rows else _row_of(session, target, at)
    _save(session, row, joined(_group(row), alert_id, target.timing, at))


def channels_of(session: Session, alert_id: str) -> list[str]:
    """The channels that have an alert in a group."""
    return [row.channel for row in _holding(session, alert_id)]


def wake(session: Session, alert_id: str, channels: Collection[str], at: datetime) -> None:
    """Have the groups of these channels look at an alert now. The caller holds the channels."""
    for row in _holding(session, alert_id):
        if row.channel in channels:
            row.due_at = at if row.due_at is None else min(at, row.due_at)


def told_firing(session: Session, target: Target) -> frozenset[str]:
    """The alerts that the group was told are firing."""
    row = _row(session, _id_of(target))
    return frozenset() if row is None else frozenset(_group(row).told_firing)


def settle(session: Session, group_id: GroupId, home: Home, choose: Choose, at: datetime) -> Decision | None:
    """Decide a group that is due and keep what was decided; None where another process has done so. What belongs to
    another group by now goes there instead.

    The caller holds the channel.
    """
    row = _row(session, group_id)
    if row is None or row.due_at is None or row.due_at > at:
        return None
    found = alert_facts(session, row.members)
    for alert in found.values():
        target = home(alert)
        if target is not None:
            _moved(session, row, target, alert.id, at)
    decision = choose(_group(row), [found[alert_id] for alert_id in row.members if alert_id in found])
    _save(session, row, decision.group)
    return decision


def drop(session: Session, group_id: GroupId) -> None:
    """Forget a group whose channel is gone."""
    row = _row(session, group_id)
    if row is not None:
        session.delete(row)


def labels_of(session: Session, channel: str, group_key: str) -> dict[str, str]:
    """What the alerts of a group have in common; empty for a group of events."""
    query = select(NotifyGroup.labels).where(NotifyGroup.channel == channel, NotifyGroup.group_key == group_key)
    return dict(session.scalars(query.limit(1)).first() or {})


def _holding(session: Session, alert_id: str) -> list[NotifyGroup]:
    """The groups that have an alert, one a channel."""
    member = cast(NotifyGroup.members, Text).contains(f'"{alert_id}"', autoescape=True)
    query = select(NotifyGroup).where(member).order_by(NotifyGroup.channel).execution_options(populate_existing=True)
    return list(session.scalars(query))


def _moved(session: Session, row: NotifyGroup, target: Target, alert_id: str, at: datetime) -> NotifyGroup:
    """Where the alert of a group is afterwards: in its target, or still here while messages of another line wait, which
    those of the target would overtake."""
    here = GroupId(row.channel, row.route, row.group_key)
    if here == _id_of(target):
        return row
    if row.group_key != target.group_key and delivery_lines.waits(session, row.channel, row.group_key):
        return row
    source, there = _group(row), _row_of(session, target, at)
    _save(session, there, inherited(joined(_group(there), alert_id, target.timing, at), alert_id, source))
    _save(session, row, without(source, alert_id))
    return there


def _row_of(session: Session, target: Target, at: datetime) -> NotifyGroup:
    row = _row(session, _id_of(target))
    return _new(session, target, at) if row is None else row


def _id_of(target: Target) -> GroupId:
    return GroupId(target.channel, target.route, target.group_key)


def _new(session: Session, target: Target, at: datetime) -> NotifyGroup:
    row = NotifyGroup(
        channel=target.channel,
        route=target.route,
        group_key=target.group_key,
        labels=dict(target.labels),
        members=[],
        told_firing=[],
        told_resolved=[],
        opened_at=at,
    )
    session.add(row)
    return row


def _row(session: Session, group_id: GroupId) -> NotifyGroup | None:
    key = (group_id.channel, group_id.route, group_id.group_key)
    return session.get(NotifyGroup, key, populate_existing=True)


def _group(row: NotifyGroup) -> Group:
    told = [entry.split(_SEPARATOR) for entry in row.told_firing]
    return Group(
        tuple(row.members),
        {alert_id: Severity(severity) for alert_id, severity, *_ in told},
        tuple(row.told_resolved),
        row.told_at,
        row.opened_at,
        row.due_at,
        frozenset(alert_id for alert_id, _, *flapping in told if flapping),
    )


def _save(session: Session, row: NotifyGroup, group: Group) -> None:
    row.members = list(group.members)
    row.told_firing = [
        _SEPARATOR.join([alert_id, severity, *([_FLAPPING] if alert_id in group.told_flapping else [])])
        for alert_id, severity in group.told_firing.items()
    ]
    row.told_resolved = list(group.told_resolved)
    row.told_at = group.told_at
    row.opened_at = group.opened_at
    row.due_at = group.due_at
    # Rows are read anew every time: what is not written by then would be lost.
    session.flush()
