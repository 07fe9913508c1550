"""The lines in which messages wait, one a channel and group, in order; the first one may be tried."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from monitor.deliveries.attempt import Tried
from monitor.deliveries.formats import Body
from monitor.deliveries.notice import Notice
from monitor.deliveries.retry import Again, Done, GiveUp, Step, SwitchOff
from monitor.store import channel_health
from monitor.store.delivery_records import ClaimedDelivery, DeliveryEntry
from monitor.store.ids import new_id
from monitor.store.limits import take_tokens
from monitor.store.tables import ChannelHealth, Delivery, DeliveryAttempt
from monitor.store.text import foreign_text
from monitor.store.vocabulary import DeliveryStatus

# A try takes 30 s at most.
LEASE = timedelta(seconds=60)
RESPONSE_CHARS, ERROR_CHARS = 2048, 512

OPEN_STATES = (DeliveryStatus.PENDING, DeliveryStatus.LEASED)
OPEN = Delivery.status.in_(OPEN_STATES)


def add(session: Session, notice: Notice, body: Body, at: datetime) -> str:
    """Enter a message behind the others of its channel and group; its id. The caller holds the channel."""
    last = select(func.max(Delivery.seq)).where(
        Delivery.channel == notice.channel, Delivery.group_key == notice.group_key
    )
    delivery_id = new_id("msg", at)
    session.add(
        Delivery(
            id=delivery_id,
            channel=notice.channel,
            type=notice.type.value,
            group_key=notice.group_key,
            seq=(session.scalars(last).one() or 0) + 1,
            alert_ids=[alert.id for alert in notice.alerts],
            body=body.content,
            content_type=body.content_type,
            status=DeliveryStatus.PENDING,
            attempts=0,
            next_attempt_at=at,
            created_at=at,
        )
    )
    session.flush()
    return delivery_id


_earlier = aliased(Delivery)
_FIRST_OF_ITS_LINE = (
    ~select(_earlier.id)
    .where(
        _earlier.channel == Delivery.channel,
        _earlier.group_key == Delivery.group_key,
        _earlier.seq < Delivery.seq,
        _earlier.status.in_(OPEN_STATES),
    )
    .exists()
)


def _sendable(at: datetime) -> tuple[ColumnElement[bool], ...]:
    """Due, not being sent, and the first open one of its channel and group."""
    lost = and_(Delivery.status == DeliveryStatus.LEASED, Delivery.lease_until < at)
    waiting = or_(Delivery.status == DeliveryStatus.PENDING, lost)
    return OPEN, waiting, Delivery.next_attempt_at <= at, _FIRST_OF_ITS_LINE


def due(session: Session, at: datetime, limit: int) -> list[str]:
    """What may be sent now, the longest due first; nothing of channels that are off or pause."""
    return list(session.scalars(_due(at).order_by(Delivery.next_attempt_at, Delivery.id).limit(limit)))


def _due(at: datetime) -> Select[str]:
    return (
        select(Delivery.id)
        .outerjoin(ChannelHealth, ChannelHealth.channel == Delivery.channel)
        .where(*_sendable(at), ChannelHealth.disabled_at.is_(None))
        .where(or_(ChannelHealth.throttled_until.is_(None), ChannelHealth.throttled_until <= at))
    )


def waits(session: Session, channel: str, group_key: str) -> bool:
    """Whether a message of a line is still to be delivered."""
    query = select(Delivery.id).where(Delivery.channel == channel, Delivery.group_key == group_key, OPEN).limit(1)
    return session.scalars(query).first() is not None


def channel_of(session: Session, delivery_id: str) -> str | None:
    """None where there is no such delivery."""
    return session.scalars(select(Delivery.channel).where(Delivery.id == delivery_id)).one_or_none()


def claim(
    session: Session, delivery_id: str, owner: str, at: datetime, *, per_minute: int, duration: timedelta = LEASE
) -> ClaimedDelivery | None:
    """Take a delivery for one try; None where it may not be sent now: a bell rung twice, or a channel at its limit."""
    if session.scalars(_due(at).where(Delivery.id == delivery_id)).first() is None:
        return None
    channel = channel_of(session, delivery_id)
    wait = take_tokens(session, f"channel:{channel}", 1, per_minute=per_minute, burst=per_minute, at=at)
    if wait:
        change(session, delivery_id, *_sendable(at), next_attempt_at=at + timedelta(seconds=wait))
        return None
    leased = {"status": DeliveryStatus.LEASED, "lease_owner": owner, "lease_until": at + duration}
    if not change(session, delivery_id, *_sendable(at), attempts=Delivery.attempts + 1, **leased):
        return None
    row = session.get_one(Delivery, delivery_id, populate_existing=True)
    return ClaimedDelivery(entry_of(row), owner, row.attempts, row.body, row.content_type)


def finish_try(session: Session, claimed: ClaimedDelivery, outcome: Tried, step: Step, at: datetime) -> bool:
    """Write down a try and what follows it. False where the owner was too late and somebody else has the delivery."""
    entry = claimed.entry
    channel_health.lock(session, [entry.channel])
    session.add(
        DeliveryAttempt(
            delivery_id=entry.id,
            at=at,
            http_status=outcome.http_status,
            error=foreign_text(outcome.error, ERROR_CHARS),
            milliseconds=outcome.milliseconds,
            response=foreign_text(outcome.response, RESPONSE_CHARS),
        )
    )
    held = (Delivery.lease_owner == claimed.owner, Delivery.attempts == claimed.attempt)
    values = _afterwards(step, foreign_text(str(outcome), ERROR_CHARS), at)
    kept = change(session, entry.id, Delivery.status == DeliveryStatus.LEASED, *held, **values)
    if kept:
        channel_health.tried(session, entry.channel, entry.id, outcome, step, at)
    return kept


def _afterwards(step: Step, error: str | None, at: datetime) -> dict[str, Any]:
    free = {"lease_owner": None, "lease_until": None}
    match step:
        case Done():
            return {**free, "status": DeliveryStatus.DELIVERED, "error": None, "finished_at": at}
        case Again(at=again):
            return {**free, "status": DeliveryStatus.PENDING, "error": error, "next_attempt_at": again}
        case SwitchOff():
            return {**free, "status": DeliveryStatus.PENDING, "error": error, "next_attempt_at": at}
        case GiveUp():
            return {**free, "status": DeliveryStatus.FAILED, "error": error, "finished_at": at}


def cancel(session: Session, delivery_ids: Collection[str], why: str, at: datetime) -> None:
    """End deliveries that need not be sent any more."""
    session.execute(
        update(Delivery)
        .where(Delivery.id.in_(delivery_ids), OPEN)
        .values(status=DeliveryStatus.CANCELLED, error=why, finished_at=at, lease_owner=None, lease_until=None)
    )


def following(session: Session, entry: DeliveryEntry) -> str | None:
    """The next open delivery of the same channel and group."""
    query = (
        select(Delivery.id)
        .where(Delivery.channel == entry.channel, Delivery.group_key == entry.group_key, Delivery.seq > entry.seq)
        .where(OPEN)
        .order_by(Delivery.seq)
        .limit(1)
    )
    return session.scalars(query).one_or_none()


def change(session: Session, delivery_id: str, *conditions: ColumnElement[bool], **values: Any) -> bool:
    """Compare and set: whether the delivery met the conditions."""
    change = update(Delivery).where(Delivery.id == delivery_id, *conditions).values(**values)
    changed = session.execute(change.returning(Delivery.id), execution_options={"synchronize_session": False})
    return changed.first() is not None


def entry_of(row: Delivery) -> DeliveryEntry:
    return DeliveryEntry(
        row.id,
        row.channel,
        row.type,
        row.group_key,
        row.seq,
        tuple(row.alert_ids),
        DeliveryStatus(row.status),
        row.attempts,
        row.next_attempt_at,
        row.error,
        row.created_at,
        row.finished_at,
    )
