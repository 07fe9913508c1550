"""What the pages show at a glance: every endpoint with its last numbers, days and alerts, in a few statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import String, cast, func, select
from sqlalchemy.orm import Session

from monitor.store.alert_records import AlertRecord, alert_record
from monitor.store.browse import overviews
from monitor.store.browse_records import EndpointOverview
from monitor.store.channel_health import DEGRADED, states
from monitor.store.delivery_lines import entry_of
from monitor.store.delivery_records import ChannelState, DeliveryEntry
from monitor.store.evidence import evidence_of
from monitor.store.pages import pages
from monitor.store.records import CheckRun, EvidenceRecord
from monitor.store.runs import run_records
from monitor.store.session import Sessions
from monitor.store.tables import Alert, Delivery, Endpoint, MetricRollup, Run, ServiceEvent
from monitor.store.vocabulary import AlertState, Bucket

# Notices of an alert that goes on for weeks are repeated each day.
_MOST_NOTICES = 100


@dataclass(frozen=True, slots=True)
class Day:
    """One day (UTC) of one metric: the mean of its points, and the extremes."""

    start: datetime
    mean: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Board:
    """`evidence` is of each endpoint's last judged check, `days` are by endpoint and metric, `alerts` all open ones."""

    endpoints: tuple[EndpointOverview, ...]
    evidence: Mapping[str, tuple[EvidenceRecord, ...]]
    days: Mapping[tuple[str, str], tuple[Day, ...]]
    alerts: tuple[AlertRecord, ...]


@dataclass(frozen=True, slots=True)
class ServiceNotice:
    """An event that says the monitor itself is degraded."""

    reason: str
    channel: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Upkeep:
    """How the service itself fares: its channels, and what it reported of itself of late."""

    channels: tuple[ChannelState, ...]
    notices: tuple[ServiceNotice, ...]


def board(session: Session, metrics: Sequence[str], since: datetime) -> Board:
    ids = session.scalars(select(Endpoint.id).order_by(Endpoint.created_at, Endpoint.id)).all()
    endpoints = tuple(overviews(session, ids))
    judged = [each.judged.id for each in endpoints if each.judged is not None]
    found = {key: values for some in pages(ids) for key, values in days(session, some, metrics, since).items()}
    return Board(endpoints, check_evidence(session, judged), found, open_alerts(session))


def check_evidence(session: Session, check_ids: Sequence[str]) -> dict[str, tuple[EvidenceRecord, ...]]:
    """Everything that was found by each of the checks, by its id."""
    found: defaultdict[str, tuple[EvidenceRecord, ...]] = defaultdict(tuple)
    for part in _runs_of(session, check_ids):
        found[part.run.check_id] += part.evidence
    return dict(found)


def days(
    session: Session, endpoint_ids: Sequence[str], metrics: Sequence[str], since: datetime
) -> dict[tuple[str, str], tuple[Day, ...]]:
    """The days of these metrics from `since` on, by endpoint and metric, in order."""
    rows = session.scalars(
        select(MetricRollup)
        .where(
            MetricRollup.endpoint_id.in_(endpoint_ids),
            MetricRollup.metric.in_(metrics),
            MetricRollup.bucket == Bucket.DAY,
            MetricRollup.start >= since,
        )
        .order_by(MetricRollup.start)
    )
    found: defaultdict[tuple[str, str], list[Day]] = defaultdict(list)
    for row in rows:
        day = Day(row.start, row.total / row.points, row.least, row.most)
        found[row.endpoint_id, row.metric].append(day)
    return {key: tuple(values) for key, values in found.items()}


def open_alerts(session: Session) -> tuple[AlertRecord, ...]:
    rows = session.scalars(select(Alert).where(Alert.state != AlertState.RESOLVED).order_by(Alert.opened_at, Alert.id))
    return tuple(alert_record(row) for row in rows)


def told_alerts(session: Session) -> int:
    """How many alerts are open that are more than a suspicion."""
    over = (AlertState.PENDING, AlertState.RESOLVED)
    return session.scalars(select(func.count()).select_from(Alert).where(Alert.state.not_in(over))).one()


def checks_evidence(session: Session, check_ids: Sequence[str], metric: str) -> list[CheckRun]:
    """The runs of these checks that were judged on `metric`, each with that finding alone, the first one first."""
    judged = [
        CheckRun(part.run, tuple(found for found in part.evidence if found.metric == metric), None)
        for part in _runs_of(session, check_ids)
    ]
    return sorted((part for part in judged if part.evidence), key=lambda part: (part.run.started_at, part.run.id))


def notices_of(session: Session, alert_id: str, since: datetime) -> list[DeliveryEntry]:
    """The messages that told of an alert, the first one first; `since` is when it was opened."""
    query = (
        select(Delivery)
        .where(Delivery.created_at >= since, cast(Delivery.alert_ids, String).contains(alert_id, autoescape=True))
        .order_by(Delivery.created_at, Delivery.id)
        .limit(_MOST_NOTICES)
    )
    return [entry for row in session.scalars(query) if alert_id in (entry := entry_of(row)).alert_ids]


def upkeep(session: Session, since: datetime) -> Upkeep:
    rows = session.scalars(
        select(ServiceEvent)
        .where(ServiceEvent.type == DEGRADED, ServiceEvent.at >= since)
        .order_by(ServiceEvent.id.desc())
        .limit(_MOST_NOTICES)
    )
    notices = [
        ServiceNotice(str(row.data.get("reason") or ""), row.labels.get("channel"), row.at) for row in rows.all()
    ]
    return Upkeep(tuple(states(session)), tuple(notices))


def _runs_of(session: Session, check_ids: Sequence[str]) -> Iterable[CheckRun]:
    for some in pages(check_ids):
        query = select(Run.id).where(Run.check_id.in_(some)).order_by(Run.started_at, Run.id)
        for run_ids in pages(session.scalars(query).all()):
            runs, evidence = run_records(session, run_ids), evidence_of(session, run_ids)
            yield from (CheckRun(runs[run_id], evidence[run_id], None) for run_id in run_ids)


class PageQueries:
    """Every method is one transaction that only reads."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def board(self, metrics: Sequence[str], since: datetime) -> Board:
        with self._sessions.read() as session:
            return board(session, metrics, since)

    def check_evidence(self, check_id: str) -> tuple[EvidenceRecord, ...]:
        with self._sessions.read() as session:
            return check_evidence(session, [check_id]).get(check_id, ())

    def open_alerts(self) -> tuple[AlertRecord, ...]:
        with self._sessions.read() as session:
            return open_alerts(session)

    def told_alerts(self) -> int:
        with self._sessions.read() as session:
            return told_alerts(session)

    def checks_evidence(self, check_ids: Sequence[str], metric: str) -> list[CheckRun]:
        with self._sessions.read() as session:
            return checks_evidence(session, check_ids, metric)

    def notices_of(self, alert_id: str, since: datetime) -> list[DeliveryEntry]:
        with self._sessions.read() as session:
            return notices_of(session, alert_id, since)

    def upkeep(self, at: datetime, within: timedelta) -> Upkeep:
        with self._sessions.read() as session:
            return upkeep(session, at - within)
