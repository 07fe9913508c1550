"""Messages that are said otherwise, or once more: old news in one summary, and what somebody asks for again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, select, update
from sqlalchemy.orm import Session, aliased

from monitor.deliveries.formats import Body
from monitor.deliveries.notice import Notice, NoticeType, Reason
from monitor.store import channel_health
from monitor.store.delivery_lines import OPEN, OPEN_STATES, add, cancel, change
from monitor.store.notify_groups import labels_of
from monitor.store.outbox import alert_facts
from monitor.store.pages import pages
from monitor.store.tables import Delivery
from monitor.store.vocabulary import DeliveryStatus

# Fired and resolved and neither was delivered: one message says both.
FOLD_AFTER = timedelta(hours=6)

Write = Callable[[Notice], Body]


def stale_lines(session: Session, at: datetime) -> list[tuple[str, str]]:
    """Channels and groups where a resolve waits behind a message that is more than FOLD_AFTER old."""
    waiting = aliased(Delivery)
    query = (
        select(Delivery.channel, Delivery.group_key)
        .join(waiting, and_(waiting.channel == Delivery.channel, waiting.group_key == Delivery.group_key))
        .where(OPEN, Delivery.type == NoticeType.FIRING.value, Delivery.created_at <= at - FOLD_AFTER)
        .where(waiting.status.in_(OPEN_STATES), waiting.type == NoticeType.RESOLVED.value)
        .where(waiting.seq > Delivery.seq)
        .distinct()
    )
    return [(channel, group_key) for channel, group_key in session.execute(query)]


def fold(session: Session, channel: str, group_key: str, write: Write, at: datetime) -> str | None:
    """Replace the open messages of a line by one that says that all of their alerts fired and were resolved.

    None, and nothing changed, while one of them is being sent or one of the alerts is not over.
    """
    channel_health.lock(session, [channel])
    line = session.scalars(
        select(Delivery)
        .where(Delivery.channel == channel, Delivery.group_key == group_key, OPEN)
        .order_by(Delivery.seq)
        .with_for_update()
    ).all()
    if not line or any(row.status is DeliveryStatus.LEASED for row in line):
        return None
    alerts = alert_facts(session, sorted({alert_id for row in line for alert_id in row.alert_ids}))
    if not alerts or not all(alert.resolved for alert in alerts.values()):
        return None
    notice = Notice(
        NoticeType.RESOLVED,
        Reason.FIRED_AND_RESOLVED,
        at,
        channel,
        group_key,
        tuple(alerts.values()),
        labels_of(session, channel, group_key),
    )
    summary = add(session, notice, write(notice), at)
    first = line[0]
    change(session, summary, attempts=first.attempts, next_attempt_at=first.next_attempt_at)
    cancel(session, [row.id for row in line], f"told by {summary}", at)
    return summary


def try_channel(session: Session, notice: Notice, body: Body, at: datetime) -> str:
    """Enter a test message, in place of one that still waits, and switch its channel on: somebody wants to know whether
    it works now. Its id."""
    channel_health.lock(session, [notice.channel])
    waiting = select(Delivery.id).where(
        Delivery.channel == notice.channel, Delivery.group_key == notice.group_key, OPEN
    )
    cancel(session, session.scalars(waiting).all(), "another test message was asked for", at)
    channel_health.open_again(session, [notice.channel])
    return add(session, notice, body, at)


def redeliver(session: Session, ids: Collection[str], at: datetime) -> list[str]:
    """Send again, from the first try on, under the same ids, and switch their channels on. Those that wait now; one
    that is being sent at the moment is left alone."""
    return sorted(
        delivery_id for some in pages(sorted(ids)) for delivery_id in _again(session, Delivery.id.in_(some), at)
    )


def redeliver_between(
    session: Session, channel: str | None, since: datetime, until: datetime, at: datetime
) -> list[str]:
    """Send again what was made in a time, for one channel or all."""
    made = and_(Delivery.created_at >= since, Delivery.created_at < until)
    return sorted(_again(session, made if channel is None else and_(made, Delivery.channel == channel), at))


def _again(session: Session, which: ColumnElement[bool], at: datetime) -> list[str]:
    # Channels before deliveries, as everywhere: two that hold one and want the other would wait for ever.
    channels = session.scalars(select(Delivery.channel).where(which).distinct()).all()
    channel_health.lock(session, channels)
    again = (
        update(Delivery)
        .where(which, Delivery.status != DeliveryStatus.LEASED)
        .values(status=DeliveryStatus.PENDING, attempts=0, next_attempt_at=at, finished_at=None, error=None)
        .returning(Delivery.id)
    )
    channel_health.open_again(session, channels)
    return list(session.scalars(again))
