"""What the store says of alerts, their events and silences: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from monitor.alerts.core import AlertCore
from monitor.alerts.holds import Silence
from monitor.alerts.inhibit import Subject
from monitor.alerts.rule import Watch
from monitor.store.tables import Alert, AlertEvent
from monitor.store.tables import Silence as SilenceRow
from monitor.store.vocabulary import AlertState, Severity


@dataclass(frozen=True, slots=True)
class AlertRecord:
    """An alert as it stands. `labels` are those that silences and routes match; `finding` is what was found last."""

    id: str
    fingerprint: str
    rule: str
    watches: Watch
    endpoint_id: str | None
    metric: str
    labels: Mapping[str, str]
    severity: Severity
    state: AlertState
    flapping: bool
    acked_at: datetime | None
    acked_by: str | None
    note: str | None
    finding: Mapping[str, Any]
    opened_at: datetime
    fired_at: datetime | None
    resolved_at: datetime | None
    updated_at: datetime
    row_version: int

    @property
    def subject(self) -> Subject:
        since = self.finding.get("since")
        return Subject(
            self.id,
            self.watches,
            self.state,
            self.labels,
            self.finding.get("error"),
            since=None if since is None else datetime.fromisoformat(since),
            until=self.opened_at,
        )


@dataclass(frozen=True, slots=True)
class AlertEventRecord:
    """One step of an alert. `notice`: people were to hear of it."""

    alert_id: str
    seq: int
    kind: str
    from_state: AlertState | None
    to_state: AlertState
    reason: str
    actor: str
    at: datetime
    notice: bool
    fanned_out_at: datetime | None


@dataclass(frozen=True, slots=True)
class AlertFilter:
    """None stands for any. `open`: not resolved, or resolved. Every label has to be there with its value."""

    open: bool | None = None
    state: AlertState | None = None
    severity: Severity | None = None
    rule: str | None = None
    endpoint_id: str | None = None
    provider: str | None = None
    model: str | None = None
    since: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SilenceRecord:
    id: str
    matchers: Mapping[str, str]
    starts_at: datetime
    ends_at: datetime
    author: str
    comment: str
    created_at: datetime
    row_version: int

    @property
    def silence(self) -> Silence:
        return Silence(self.id, self.matchers, self.starts_at, self.ends_at)


def alert_record(row: Alert) -> AlertRecord:
    return AlertRecord(
        id=row.id,
        fingerprint=row.fingerprint,
        rule=row.rule,
        watches=AlertCore.from_json(row.core).watches,
        endpoint_id=row.endpoint_id,
        metric=row.metric,
        labels=row.labels,
        severity=row.severity,
        state=row.state,
        flapping=row.flapping,
        acked_at=row.acked_at,
        acked_by=row.acked_by,
        note=row.note,
        finding=row.finding,
        opened_at=row.opened_at,
        fired_at=row.fired_at,
        resolved_at=row.resolved_at,
        updated_at=row.updated_at,
        row_version=row.row_version,
    )


def event_record(row: AlertEvent) -> AlertEventRecord:
    return AlertEventRecord(
        alert_id=row.alert_id,
        seq=row.seq,
        kind=row.kind,
        from_state=row.from_state,
        to_state=row.to_state,
        reason=row.reason,
        actor=row.actor,
        at=row.at,
        notice=bool(row.snapshot.get("notice")),
        fanned_out_at=row.fanned_out_at,
    )


def silence_record(row: SilenceRow) -> SilenceRecord:
    return SilenceRecord(
        id=row.id,
        matchers=row.matchers,
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        author=row.author,
        comment=row.comment,
        created_at=row.created_at,
        row_version=row.row_version,
    )
