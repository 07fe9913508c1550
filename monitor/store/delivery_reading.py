"""Deliveries as people look at them: pages, tries, counts; and how old ones go."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from monitor.store.delivery_lines import OPEN, entry_of
from monitor.store.delivery_records import AttemptRecord, DeliveryEntry
from monitor.store.keyset import Page, Position, Window, page_of, windowed
from monitor.store.tables import Delivery, DeliveryAttempt
from monitor.store.vocabulary import DeliveryStatus


def find(session: Session, delivery_id: str) -> DeliveryEntry | None:
    row = session.get(Delivery, delivery_id)
    return None if row is None else entry_of(row)


def entries(
    session: Session, window: Window, *, channel: str | None = None, status: DeliveryStatus | None = None
) -> Page[DeliveryEntry]:
    """Deliveries, the newest first unless the window says otherwise."""
    query = select(Delivery)
    if channel is not None:
        query = query.where(Delivery.channel == channel)
    if status is not None:
        query = query.where(Delivery.status == status)
    rows = session.scalars(windowed(query, Delivery.created_at, Delivery.id, window)).all()
    return page_of([entry_of(row) for row in rows], window, lambda entry: Position(entry.created_at, entry.id))


def attempts_of(session: Session, delivery_id: str) -> list[AttemptRecord]:
    """Every try of a delivery, in order."""
    query = select(DeliveryAttempt).where(DeliveryAttempt.delivery_id == delivery_id).order_by(DeliveryAttempt.id)
    return [
        AttemptRecord(row.at, row.http_status, row.error, row.milliseconds, row.response)
        for row in session.scalars(query)
    ]


def pending(session: Session) -> dict[str, int]:
    """How many messages wait, by channel."""
    query = select(Delivery.channel, func.count().label("waiting")).where(OPEN).group_by(Delivery.channel)
    return {row.channel: row.waiting for row in session.execute(query)}


def prune(session: Session, before: datetime, limit: int) -> int:
    """Drop at most `limit` messages that were finished before; how many."""
    old = select(Delivery.id).where(~OPEN, Delivery.finished_at < before).order_by(Delivery.id).limit(limit)
    return len(session.scalars(delete(Delivery).where(Delivery.id.in_(old)).returning(Delivery.id)).all())
