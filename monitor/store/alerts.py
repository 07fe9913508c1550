"""Alerts: what was measured moves them, people look at them and decide, silences hold their notices back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Select, case, func, select
from sqlalchemy.orm import Session

from monitor.alerts.holds import Holds, holds_of
from monitor.alerts.inhibit import Conditions
from monitor.alerts.rule import AlertRule
from monitor.alerts.signals import Acked, Commented, Decided, Measured, ResolvedByHand, Unacked
from monitor.config.service import Maintenance
from monitor.errors import ConflictError, NotFoundError
from monitor.store.access import audit
from monitor.store.alert_records import (
    AlertEventRecord,
    AlertFilter,
    AlertRecord,
    SilenceRecord,
    alert_record,
    event_record,
)
from monitor.store.alert_steps import accept_change, apply_signals, decide, end_outdated
from monitor.store.keyset import Page, Window, read_page
from monitor.store.pages import pages
from monitor.store.session import Sessions
from monitor.store.silences import (
    active_silences,
    add_silence,
    check_version,
    expire_silence,
    find_silence,
    page_silences,
)
from monitor.store.tables import Alert, AlertEvent, Evidence
from monitor.store.vocabulary import AlertState, Severity

__all__ = [
    "AlertEventRecord",
    "AlertFilter",
    "AlertRecord",
    "Alerts",
    "SilenceRecord",
    "accept_change",
    "apply_signals",
    "end_outdated",
    "holds_by_id",
    "last_verdict_at",
]


ALERT_SORTS = {
    "opened_at": Alert.opened_at,
    "updated_at": Alert.updated_at,
    "severity": case({severity: severity.rank for severity in Severity}, value=Alert.severity),
}


class Alerts:
    """Every method is one transaction. `expected` is the row_version that the caller saw; where the alert or silence
    has changed since, PreconditionFailedError. An unknown id raises NotFoundError."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def apply(
        self,
        endpoint_id: str,
        labels: Mapping[str, str],
        signals: Sequence[Measured],
        rules: Sequence[AlertRule],
        *,
        at: datetime,
    ) -> Sequence[str]:
        """`apply_signals` in a transaction of its own."""
        with self._sessions.write() as session:
            return apply_signals(session, endpoint_id, labels, signals, rules, at)

    def list(self, window: Window, which: AlertFilter | None = None) -> Page[AlertRecord]:
        """Alerts, those opened last first."""
        with self._sessions.read() as session:
            page = read_page(session, _filtered(which or AlertFilter()), ALERT_SORTS, Alert.id, window)
            return page.of(map(alert_record, page.items))

    def show(self, alert_id: str) -> AlertRecord:
        with self._sessions.read() as session:
            return alert_record(_row(session, alert_id))

    def events(self, alert_id: str) -> Sequence[AlertEventRecord]:
        """The alert's steps, the first one first."""
        with self._sessions.read() as session:
            _row(session, alert_id)
            rows = session.scalars(
                select(AlertEvent).where(AlertEvent.alert_id == alert_id).order_by(AlertEvent.seq)
            ).all()
            return [event_record(row) for row in rows]

    def ack(
        self, alert_id: str, *, actor: str, at: datetime, note: str = "", expected: int | None = None
    ) -> AlertRecord:
        """Somebody looks after it: no more repeats, until it gets worse. Raises ConflictError for a resolved one."""
        return self._decide(alert_id, Acked(at, actor, note), at, expected)

    def unack(self, alert_id: str, *, actor: str, at: datetime, expected: int | None = None) -> AlertRecord:
        return self._decide(alert_id, Unacked(at, actor), at, expected)

    def resolve(
        self, alert_id: str, *, actor: str, at: datetime, note: str = "", expected: int | None = None
    ) -> AlertRecord:
        """Over, by a person's word; the next proven drift is a new alert."""
        return self._decide(alert_id, ResolvedByHand(at, actor, note), at, expected)

    def comment(
        self, alert_id: str, *, actor: str, text: str, at: datetime, expected: int | None = None
    ) -> AlertRecord:
        return self._decide(alert_id, Commented(at, actor, text), at, expected)

    def holds(
        self,
        alerts: Iterable[AlertRecord],
        *,
        at: datetime,
        windows: Sequence[Maintenance] = (),
        conditions: Conditions | None = None,
    ) -> dict[str, Holds]:
        """What holds back the notices of each alert."""
        with self._sessions.read() as session:
            return _holds(session, alerts, at, windows, conditions)

    def add_silence(
        self,
        matchers: Mapping[str, str],
        *,
        starts_at: datetime,
        ends_at: datetime,
        author: str,
        comment: str,
        at: datetime,
    ) -> SilenceRecord:
        """Raises UsageError for one without matchers or without an end ahead."""
        with self._sessions.write() as session:
            made = add_silence(
                session, matchers, starts_at=starts_at, ends_at=ends_at, author=author, comment=comment, at=at
            )
            audit(session, author, "silence.create", made.id, {"matchers": dict(made.matchers)}, at)
            return made

    def show_silence(self, silence_id: str) -> SilenceRecord:
        with self._sessions.read() as session:
            return find_silence(session, silence_id)

    def silences(self, window: Window, *, not_over_at: datetime | None = None) -> Page[SilenceRecord]:
        """Silences, those that begin last first; with `not_over_at` only those that hold then or will."""
        with self._sessions.read() as session:
            return page_silences(session, window, not_over_at=not_over_at)

    def expire_silence(
        self, silence_id: str, *, actor: str, at: datetime, expected: int | None = None
    ) -> SilenceRecord:
        """End a silence now; one that is over stays as it is."""
        with self._sessions.write() as session:
            ended = expire_silence(session, silence_id, at=at, expected=expected)
            audit(session, actor, "silence.end", silence_id, {}, at)
            return ended

    def _decide(self, alert_id: str, signal: Decided, at: datetime, expected: int | None) -> AlertRecord:
        with self._sessions.write() as session:
            row = _row(session, alert_id, hold=True)
            check_version(f"Alert {alert_id}", row.row_version, expected)
            if row.state is AlertState.RESOLVED:
                raise ConflictError(
                    f"Alert {alert_id} is resolved already.", remedy="A new episode is a new alert with its own id."
                )
            decide(session, row, signal, at)
            session.expire(row)
            return alert_record(_row(session, alert_id))


def holds_by_id(
    session: Session,
    alert_ids: Sequence[str],
    at: datetime,
    windows: Sequence[Maintenance] = (),
    conditions: Conditions | None = None,
) -> dict[str, Holds]:
    """What holds back the notices of each of these alerts; `conditions` are the faults of our own."""
    rows = [row for some in pages(alert_ids) for row in session.scalars(select(Alert).where(Alert.id.in_(some)))]
    return _holds(session, [alert_record(row) for row in rows], at, windows, conditions)


def last_verdict_at(session: Session, endpoint_id: str, at: datetime) -> datetime | None:
    """When an endpoint last gave a verdict of any kind, up to `at`: what a Tick's `quiet_since` begins with.

    A verdict beyond `at` was given while a clock ran ahead: silence is not to count from there.
    """
    last = select(func.max(Evidence.created_at)).where(Evidence.endpoint_id == endpoint_id, Evidence.created_at <= at)
    return session.scalars(last).one()


def _holds(
    session: Session,
    alerts: Iterable[AlertRecord],
    at: datetime,
    windows: Sequence[Maintenance],
    conditions: Conditions | None,
) -> dict[str, Holds]:
    silences = [found.silence for found in active_silences(session, at)]
    failing = session.scalars(select(Alert).where(Alert.state == AlertState.ERROR).order_by(Alert.id)).all()
    others = [alert_record(row).subject for row in failing]
    return {
        alert.id: holds_of(alert.subject, at, silences=silences, windows=windows, others=others, conditions=conditions)
        for alert in alerts
    }


def _row(session: Session, alert_id: str, *, hold: bool = False) -> Alert:
    query = select(Alert).where(Alert.id == alert_id)
    row = session.scalars(query.with_for_update() if hold else query).one_or_none()
    if row is None:
        raise NotFoundError(f"There is no alert {alert_id}.", remedy="`monitor alerts list --all` shows the ids.")
    return row


def _filtered(which: AlertFilter) -> Select[Alert]:
    query = select(Alert).where(*(Alert.labels[name].as_string() == value for name, value in which.labels.items()))
    if which.open is not None:
        over = Alert.state == AlertState.RESOLVED
        query = query.where(~over if which.open else over)
    if which.since is not None:
        query = query.where(Alert.updated_at >= which.since)
    wanted = {
        Alert.state: which.state,
        Alert.severity: which.severity,
        Alert.rule: which.rule,
        Alert.endpoint_id: which.endpoint_id,
        Alert.labels["provider"].as_string(): which.provider,
        Alert.labels["model"].as_string(): which.model,
    }
    return query.where(*(column == value for column, value in wanted.items() if value is not None))
