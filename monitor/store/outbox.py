"""The outbox: what happened to alerts and to the service that channels have not been told of yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from monitor.alerts.states import AlertState, Severity
from monitor.deliveries.facts import AlertFacts, Finding, plain_data, plain_labels
from monitor.store.delivery_records import AlertStep, EventStep
from monitor.store.once import insert_once
from monitor.store.pages import pages
from monitor.store.tables import Alert, AlertEvent, ServiceEvent


def record_service_event(
    session: Session,
    type: str,  # noqa: A002 - the column's name
    dedupe_key: str,
    *,
    at: datetime,
    endpoint_id: str | None = None,
    labels: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
) -> bool:
    """Enter an event that channels may hear of; False where one with its key is there already."""
    return insert_once(
        session,
        ServiceEvent,
        type=type,
        dedupe_key=dedupe_key,
        endpoint_id=endpoint_id,
        labels=dict(labels or {}),
        data=dict(data or {}),
        at=at,
        fanned_out_at=None,
    )


def open_alert_steps(session: Session, limit: int) -> list[AlertStep]:
    """The oldest steps of alerts that were not fanned out, in order."""
    query = select(AlertEvent).where(AlertEvent.fanned_out_at.is_(None)).order_by(AlertEvent.id).limit(limit)
    events = session.scalars(query).all()
    facts = alert_facts(session, sorted({event.alert_id for event in events}))
    return [
        AlertStep(event.id, event.kind, AlertState(event.to_state), event.at, facts[event.alert_id]) for event in events
    ]


def open_events(session: Session, limit: int) -> list[EventStep]:
    """The oldest events of the service that were not fanned out, in order."""
    query = select(ServiceEvent).where(ServiceEvent.fanned_out_at.is_(None)).order_by(ServiceEvent.id).limit(limit)
    return [
        EventStep(row.id, row.type, plain_labels(_with_endpoint(row)), plain_data(row.data), row.at)
        for row in session.scalars(query)
    ]


def take_step(session: Session, table: type[AlertEvent] | type[ServiceEvent], event_id: int, at: datetime) -> bool:
    """Mark an event as fanned out; False where another process has done so."""
    taken = update(table).where(table.id == event_id, table.fanned_out_at.is_(None)).values(fanned_out_at=at)
    return session.execute(taken.returning(table.id)).first() is not None


def alert_facts(session: Session, ids: Sequence[str]) -> dict[str, AlertFacts]:
    """Those of the alerts that exist, as notices see them."""
    found = {}
    for some in pages(ids):
        for row in session.scalars(select(Alert).where(Alert.id.in_(some))):
            found[row.id] = _facts(row)
    return found


def _facts(row: Alert) -> AlertFacts:
    return AlertFacts(
        id=row.id,
        fingerprint=row.fingerprint,
        rule=row.rule,
        metric=row.metric,
        severity=Severity(row.severity),
        state=AlertState(row.state),
        labels=plain_labels({**_with_endpoint(row), "rule": row.rule}),
        opened_at=row.opened_at,
        fired_at=row.fired_at,
        resolved_at=row.resolved_at,
        acked=row.acked_at is not None,
        flapping=row.flapping,
        finding=Finding.of(row.finding),
    )


def _with_endpoint(row: Alert | ServiceEvent) -> dict[str, Any]:
    return {**row.labels, **({"endpoint": row.endpoint_id} if row.endpoint_id else {})}
