"""The groups in which channels hear of alerts: what each holds, what it was told last, and when it is due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.alerts.states import AlertState, Severity
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.group import Decision, Group, joined
from monitor.deliveries.routes import Target
from monitor.store.delivery_records import GroupId
from monitor.store.outbox import alert_facts
from monitor.store.tables import NotifyGroup

Choose = Callable[[Group, Sequence[AlertFacts]], Decision]

# Between an alert's id and the severity that was announced.
_SEPARATOR = "@"


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

    What never fired is nobody's business, nor is the end of what the group does not know.
    """
    row = _row(session, GroupId(target.channel, target.route, target.group_key))
    known = row is not None and alert_id in row.members
    if to_state is AlertState.PENDING or (to_state is AlertState.RESOLVED and not known):
        return
    group = joined(None if row is None else _group(row), alert_id, target.timing, at)
    if row is None:
        row = _new(session, target, at)
    _save(row, group)


def told_firing(session: Session, target: Target) -> frozenset[str]:
    """The alerts that the group was told are firing."""
    row = _row(session, GroupId(target.channel, target.route, target.group_key))
    return frozenset() if row is None else frozenset(_group(row).told_firing)


def settle(session: Session, group_id: GroupId, choose: Choose, at: datetime) -> Decision | None:
    """Decide a group that is due and keep what was decided; None where another process has done so.

    The caller holds the channel.
    """
    row = _row(session, group_id)
    if row is None or row.due_at is None or row.due_at > at:
        return None
    found = alert_facts(session, row.members)
    decision = choose(_group(row), [found[alert_id] for alert_id in row.members if alert_id in found])
    _save(row, decision.group)
    return decision


def drop(session: Session, group_id: GroupId) -> None:
    """Forget a group whose channel or route is gone."""
    row = _row(session, group_id)
    if row is not None:
        session.delete(row)


def labels_of(session: Session, channel: str, group_key: str) -> dict[str, str]:
    """What the alerts of a group have in common; empty for a group of events."""
    query = select(NotifyGroup.labels).where(NotifyGroup.channel == channel, NotifyGroup.group_key == group_key)
    return dict(session.scalars(query.limit(1)).first() or {})


def _new(session: Session, target: Target, at: datetime) -> NotifyGroup:
    row = NotifyGroup(
        channel=target.channel,
        route=target.route,
        group_key=target.group_key,
        labels=dict(target.labels),
        opened_at=at,
    )
    session.add(row)
    return row


def _row(session: Session, group_id: GroupId) -> NotifyGroup | None:
    key = (group_id.channel, group_id.route, group_id.group_key)
    return session.get(NotifyGroup, key, populate_existing=True)


def _group(row: NotifyGroup) -> Group:
    told = [entry.split(_SEPARATOR, 1) for entry in row.told_firing]
    return Group(
        tuple(row.members),
        {alert_id: Severity(severity) for alert_id, severity in told},
        tuple(row.told_resolved),
        row.told_at,
        row.opened_at,
        row.due_at,
    )


def _save(row: NotifyGroup, group: Group) -> None:
    row.members = list(group.members)
    row.told_firing = [f"{alert_id}{_SEPARATOR}{severity}" for alert_id, severity in group.told_firing.items()]
    row.told_resolved = list(group.told_resolved)
    row.told_at = group.told_at
    row.opened_at = group.opened_at
    row.due_at = group.due_at
