"""Deliveries as people look at them: pages, tries, counts; and how old ones go."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select, true
from sqlalchemy.orm import Session, defer

from monitor.store.delivery_lines import OPEN, entry_of
from monitor.store.delivery_records import AttemptRecord, DeliveryEntry, Told
from monitor.store.keyset import Page, Window, read_page
from monitor.store.pages import pages
from monitor.store.tables import Delivery, DeliveryAttempt
from monitor.store.vocabulary import DeliveryStatus

DELIVERY_SORTS = {"created_at": Delivery.created_at, "channel": Delivery.channel}


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
    page = read_page(session, query, DELIVERY_SORTS, Delivery.id, window)
    return page.of(map(entry_of, page.items))


def attempts_of(session: Session, delivery_id: str) -> list[AttemptRecord]:
    """Every try of a delivery, in order."""
    query = select(DeliveryAttempt).where(DeliveryAttempt.delivery_id == delivery_id).order_by(DeliveryAttempt.id)
    return [
        AttemptRecord(row.at, row.http_status, row.error, row.milliseconds, row.response)
        for row in session.scalars(query)
    ]


def told(session: Session, alert_ids: Sequence[str]) -> dict[str, tuple[Told, ...]]:
    """Of each alert the latest message to every channel that was sent one, or is to be."""
    found: dict[str, dict[str, Told]] = {alert_id: {} for alert_id in alert_ids}
    about = _about(session.get_bind().dialect.name)
    for some in pages(alert_ids):
        query = (
            select(about.c.value, Delivery)
            .join(about, true())
            .where(about.c.value.in_(some), Delivery.status != DeliveryStatus.CANCELLED)
            .options(defer(Delivery.body))
            .order_by(Delivery.created_at, Delivery.id)
        )
        for alert_id, row in session.execute(query):
            found[alert_id][row.channel] = Told(row.channel, row.type, row.status, row.finished_at or row.created_at)
    return {alert_id: tuple(latest[channel] for channel in sorted(latest)) for alert_id, latest in found.items()}


def _about(dialect: str) -> Any:
    """The alerts that a delivery names, one a row."""
    if dialect == "postgresql":
        return func.json_array_elements_text(Delivery.alert_ids).table_valued("value").render_derived()
    return func.json_each(Delivery.alert_ids).table_valued("value")


def pending(session: Session) -> dict[str, int]:
    """How many messages wait, by channel."""
    query = select(Delivery.channel, func.count().label("waiting")).where(OPEN).group_by(Delivery.channel)
    return {row.channel: row.waiting for row in session.execute(query)}


def prune(session: Session, before: datetime, limit: int) -> int:
    """Drop at most `limit` messages that were finished before; how many."""
    old = select(Delivery.id).where(~OPEN, Delivery.finished_at < before).order_by(Delivery.id).limit(limit)
    return len(session.scalars(delete(Delivery).where(Delivery.id.in_(old)).returning(Delivery.id)).all())
