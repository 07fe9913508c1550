"""Alerts, their history, the silences over them, and the events of the service that are no alerts."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, Integer, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from monitor.store.columns import BIG_KEY, word
from monitor.store.tables.metadata import Table
from monitor.store.vocabulary import AlertState, Severity

_NOT_FANNED_OUT = text("fanned_out_at is null")


class Alert(Table):
    """One episode of one rule on one endpoint (None: on the service itself) and one metric.

    `core` is the pure state of monitor.alerts.step, as JSON, and `state`, `severity` and the times repeat what is asked
    for in queries. `finding` is what the last evidence said: value, baseline, interval, unit, n, detector, causes,
    the runs and checks behind it, and when the change came; no prompt and no answer.
    """

    __tablename__ = "alert"
    __table_args__ = (
        Index(
            "uq_alert_open",
            "fingerprint",
            unique=True,
            sqlite_where=text("state <> 'resolved'"),
            postgresql_where=text("state <> 'resolved'"),
        ),
        Index(None, "endpoint_id", "opened_at"),
        Index(None, "state", "opened_at"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    rule: Mapped[str] = mapped_column(String(128))
    endpoint_id: Mapped[str | None] = mapped_column(ForeignKey("endpoint.id"))
    metric: Mapped[str] = mapped_column(String(64))
    labels: Mapped[dict[str, Any]]
    severity: Mapped[Severity] = mapped_column(word(Severity, "severity"))
    state: Mapped[AlertState] = mapped_column(word(AlertState, "state"))
    flapping: Mapped[bool]
    acked_at: Mapped[datetime | None]
    acked_by: Mapped[str | None] = mapped_column(String(128))
    note: Mapped[str | None] = mapped_column(Text)
    core: Mapped[dict[str, Any]]
    finding: Mapped[dict[str, Any]]
    opened_at: Mapped[datetime]
    fired_at: Mapped[datetime | None]
    resolved_at: Mapped[datetime | None]
    updated_at: Mapped[datetime]
    row_version: Mapped[int]


class AlertEvent(Table):
    """One step of an alert, and the outbox: a step without `fanned_out_at` has not reached the channels' groups yet.

    `snapshot` is what notices say of the alert at that moment.
    """

    __tablename__ = "alert_event"
    __table_args__ = (
        UniqueConstraint("alert_id", "seq"),
        Index("ix_alert_event_outbox", "id", sqlite_where=_NOT_FANNED_OUT, postgresql_where=_NOT_FANNED_OUT),
    )

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    alert_id: Mapped[str] = mapped_column(ForeignKey("alert.id"))
    seq: Mapped[int]
    kind: Mapped[str] = mapped_column(String(32))
    from_state: Mapped[AlertState | None] = mapped_column(word(AlertState, "from_state"))
    to_state: Mapped[AlertState] = mapped_column(word(AlertState, "to_state"))
    reason: Mapped[str] = mapped_column(Text)
    actor: Mapped[str] = mapped_column(String(128))
    at: Mapped[datetime]
    snapshot: Mapped[dict[str, Any]]
    fanned_out_at: Mapped[datetime | None]


class ServiceEvent(Table):
    """What channels may hear beside alerts (a finished run, a new fingerprint, a spent budget, a degraded monitor);
    an outbox like `alert_event`. `dedupe_key` makes an event that is reported twice one event."""

    __tablename__ = "service_event"
    __table_args__ = (
        UniqueConstraint("dedupe_key"),
        Index("ix_service_event_outbox", "id", sqlite_where=_NOT_FANNED_OUT, postgresql_where=_NOT_FANNED_OUT),
    )

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    type: Mapped[str] = mapped_column(String(64))
    dedupe_key: Mapped[str] = mapped_column(String(256))
    endpoint_id: Mapped[str | None] = mapped_column(ForeignKey("endpoint.id"))
    labels: Mapped[dict[str, Any]]
    data: Mapped[dict[str, Any]]
    at: Mapped[datetime]
    fanned_out_at: Mapped[datetime | None]


class Silence(Table):
    """Holds back notices of the alerts whose labels match, for a time that always ends."""

    __tablename__ = "silence"
    __table_args__ = (Index(None, "ends_at"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    matchers: Mapped[dict[str, Any]]
    starts_at: Mapped[datetime]
    ends_at: Mapped[datetime]
    author: Mapped[str] = mapped_column(String(128))
    comment: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    row_version: Mapped[int] = mapped_column(Integer)
