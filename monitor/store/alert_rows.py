"""The row of an alert and its events, written together as one step left them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from monitor.alerts.bearing import MOVED
from monitor.alerts.core import AlertCore
from monitor.alerts.events import MACHINE, Event, EventKind, Stepped
from monitor.alerts.replay import finding_labels
from monitor.alerts.rule import AlertRule, Watch, fingerprint
from monitor.alerts.signals import Failed, Measured, Tick, Verdicted
from monitor.drift.rule import Verdict
from monitor.store.ids import new_id
from monitor.store.once import insert_once
from monitor.store.tables import Alert, AlertEvent, Evidence


@dataclass(frozen=True, slots=True)
class Place:
    """What an alert is about: one rule, one endpoint, one metric."""

    rule: AlertRule
    endpoint_id: str
    metric: str
    labels: Mapping[str, str]

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.rule.id, self.endpoint_id, self.metric)


def insert_row(
    session: Session, place: Place, stepped: Stepped, core: AlertCore, finding: dict[str, Any], at: datetime
) -> str | None:
    """Its id; None where another transaction has opened this alert meanwhile."""
    own = {"endpoint": place.endpoint_id, "rule": place.rule.id, "severity": core.severity.value}
    values = {
        "id": new_id("alr", at),
        "fingerprint": place.fingerprint,
        "rule": place.rule.id,
        "endpoint_id": place.endpoint_id,
        "metric": place.metric,
        "labels": {**finding_labels(place.labels, place.metric), **own},
        "note": None,
        "row_version": 1,
        **_columns(core, finding, at),
    }
    if not insert_once(session, Alert, **values):
        return None
    _add_events(session, values, stepped.events, first=1)
    return str(values["id"])


def update_row(
    session: Session, row: Alert, stepped: Stepped, core: AlertCore, finding: Mapping[str, Any], at: datetime
) -> bool:
    """Compare and set; False where the row has changed since it was read."""
    columns = _columns(core, finding, at)
    columns["labels"] = {**row.labels, "severity": core.severity.value}
    columns["note"] = _note(stepped.events) or row.note
    changed = (
        update(Alert)
        .where(Alert.id == row.id, Alert.row_version == row.row_version)
        .values(**columns, row_version=row.row_version + 1)
        .returning(Alert.id)
        .execution_options(synchronize_session=False)
    )
    if session.execute(changed).first() is None:
        return False
    last = session.scalars(select(func.max(AlertEvent.seq)).where(AlertEvent.alert_id == row.id)).one() or 0
    kept = {"id": row.id, "fingerprint": row.fingerprint, "rule": row.rule, "metric": row.metric}
    _add_events(session, {**kept, **columns}, stepped.events, first=last + 1)
    return True


def _columns(core: AlertCore, finding: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    return {
        "severity": core.severity,
        "state": core.state,
        "flapping": core.flapping,
        "acked_at": core.acked_at,
        "acked_by": core.acked_by,
        "core": core.to_json(),
        "finding": dict(finding),
        "opened_at": core.opened_at,
        "fired_at": core.fired_at,
        "resolved_at": core.resolved_at,
        "updated_at": at,
    }


def _note(events: Sequence[Event]) -> str | None:
    """What a person said when acting last."""
    said = [event.reason for event in events if event.actor != MACHINE and event.kind is not EventKind.COMMENTED]
    return said[-1] if said and said[-1] else None


def _add_events(session: Session, alert: Mapping[str, Any], events: Sequence[Event], first: int) -> None:
    for seq, event in enumerate(events, first):
        session.add(
            AlertEvent(
                alert_id=alert["id"],
                seq=seq,
                kind=event.kind.value,
                from_state=event.from_state,
                to_state=event.to_state,
                reason=event.reason,
                actor=event.actor,
                at=event.at,
                snapshot=_snapshot(alert, event),
            )
        )
    session.flush()


def _snapshot(alert: Mapping[str, Any], event: Event) -> dict[str, Any]:
    kept = {name: alert[name] for name in ("fingerprint", "rule", "metric", "labels", "finding", "flapping")}
    times = {name: _iso(alert[name]) for name in ("opened_at", "fired_at", "resolved_at", "acked_at")}
    stands = {"state": event.to_state.value, "severity": alert["severity"].value, "acked_by": alert["acked_by"]}
    return {**kept, **times, **stands, "notice": event.notice}


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def finding_of(signal: Measured, core: AlertCore, before: Mapping[str, Any]) -> dict[str, Any]:
    """What the last bad measurement said; a good one leaves it, so that what is resolved can still be told."""
    when = {"since": before.get("since"), "until": before.get("until")}
    match signal:
        case Verdicted() if signal.verdict in MOVED and _is_about(signal, core.watches):
            return {**signal.finding, **when, "checks": list(core.evidence or (signal.check_id,))}
        case Failed():
            return {**when, "error": signal.error_code, "checks": list(core.evidence)}
        case Tick():
            return {**when, "since": signal.quiet_since.isoformat()}
    return dict(before)


def _is_about(signal: Verdicted, watches: Watch) -> bool:
    return watches is (Watch.AVAILABILITY if signal.of_availability else Watch.DRIFT)


def last_good(session: Session, place: Place, before: datetime) -> str | None:
    """When the metric was last found unchanged: the change came after that."""
    if place.rule.watches is not Watch.DRIFT:
        return None
    good = select(func.max(Evidence.created_at)).where(
        Evidence.endpoint_id == place.endpoint_id,
        Evidence.metric == place.metric,
        Evidence.verdict == Verdict.OK,
        Evidence.created_at < before,
    )
    return _iso(session.scalars(good).one())
