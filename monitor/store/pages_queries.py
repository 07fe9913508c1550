"""What the pages show at a glance: every endpoint with its last numbers, days and alerts, in a few statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, Select, String, cast, func, select
from sqlalchemy.orm import Session

from monitor.drift.rule import Verdict
from monitor.standing import StandingVerdict
from monitor.store.alert_records import AlertRecord, alert_record
from monitor.store.channel_health import DEGRADED, states
from monitor.store.delivery_lines import entry_of
from monitor.store.delivery_records import ChannelState, DeliveryEntry
from monitor.store.endpoints import find_endpoints
from monitor.store.evidence import evidence_of
from monitor.store.pages import pages
from monitor.store.records import CheckRun, EndpointRecord, EvidenceRecord
from monitor.store.runs import run_records
from monitor.store.session import Sessions
from monitor.store.standing import latest_evidence, standing_evidence, standing_verdicts
from monitor.store.tables import Alert, Delivery, Endpoint, EndpointCheck, MetricRollup, Run, ServiceEvent
from monitor.store.vocabulary import AlertState, Bucket, RunStatus

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
class CheckGlance:
    """What of a check decides how its endpoint stands."""

    id: str
    status: RunStatus
    verdict: Verdict | None
    enrolled: bool
    error_code: str | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class EndpointGlance:
    """`latest` is the last check that was entered, `judged` the last one with a verdict; `standing` is what stands of
    everything that was asked."""

    endpoint: EndpointRecord
    latest: CheckGlance | None
    judged: CheckGlance | None
    standing: tuple[StandingVerdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """Every endpoint, the oldest first, and all open alerts."""

    endpoints: tuple[EndpointGlance, ...]
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


def board(session: Session) -> Board:
    records = find_endpoints(session, provider=None, model=None)
    latest, judged = _last_check(), _last_check(EndpointCheck.verdict.is_not(None))
    last = {row[0]: (row[1], row[2]) for row in session.execute(select(Endpoint.id, latest, judged))}
    checks = _check_glances(session, [each for ids in last.values() for each in ids if each is not None])
    standing = standing_verdicts(session)
    glances = (
        EndpointGlance(each, checks.get(latest_id), checks.get(judged_id), standing.get(each.id, ()))
        for each in records
        for latest_id, judged_id in [last.get(each.id, (None, None))]
    )
    return Board(tuple(glances), open_alerts(session))


def _last_check(*conditions: ColumnElement[bool]) -> ScalarSelect[str]:
    """The id of an endpoint's last check: one look into an index, however long its past is."""
    return (
        select(EndpointCheck.id)
        .where(EndpointCheck.endpoint_id == Endpoint.id, *conditions)
        .order_by(EndpointCheck.queued_at.desc(), EndpointCheck.id.desc())
        .limit(1)
        .correlate(Endpoint)
        .scalar_subquery()
    )


def _check_glances(session: Session, check_ids: Sequence[str]) -> dict[str | None, CheckGlance]:
    columns = [getattr(EndpointCheck, field.name) for field in fields(CheckGlance)]
    return {
        row[0]: CheckGlance(*row)
        for some in pages(list(dict.fromkeys(check_ids)))
        for row in session.execute(select(*columns).where(EndpointCheck.id.in_(some)))
    }


def check_evidence(session: Session, check_ids: Sequence[str]) -> dict[str, tuple[EvidenceRecord, ...]]:
    """What was found by each of the checks, by its id."""
    found: defaultdict[str, tuple[EvidenceRecord, ...]] = defaultdict(tuple)
    for some in pages(check_ids):
        query = select(Run.id, Run.check_id).where(Run.check_id.in_(some)).order_by(Run.started_at, Run.id)
        runs = [(row[0], row[1]) for row in session.execute(query)]
        evidence = evidence_of(session, [run_id for run_id, _ in runs])
        for run_id, check_id in runs:
            found[check_id] += evidence[run_id]
    return dict(found)


def days(session: Session, metrics: Mapping[str, str], since: datetime) -> dict[str, tuple[Day, ...]]:
    """The days from `since` on of one metric of each endpoint, in order; `metrics` and the answer are by endpoint."""
    endpoints: defaultdict[str, list[str]] = defaultdict(list)
    for endpoint_id, metric in metrics.items():
        endpoints[metric].append(endpoint_id)
    found: defaultdict[str, list[Day]] = defaultdict(list)
    for metric, ids in endpoints.items():
        for some in pages(ids):
            for endpoint_id, start, total, points, least, most in session.execute(_days_of(some, metric, since)):
                found[endpoint_id].append(Day(start, total / points, least, most))
    return {endpoint_id: tuple(values) for endpoint_id, values in found.items()}


def _days_of(endpoint_ids: Sequence[str], metric: str, since: datetime) -> Select[*tuple[Any, ...]]:
    row = MetricRollup
    return (
        select(row.endpoint_id, row.start, row.total, row.points, row.least, row.most)
        .where(row.endpoint_id.in_(endpoint_ids), row.metric == metric, row.bucket == Bucket.DAY, row.start >= since)
        .order_by(row.start)
    )


def open_alerts(session: Session) -> tuple[AlertRecord, ...]:
    rows = session.scalars(select(Alert).where(Alert.state != AlertState.RESOLVED).order_by(Alert.opened_at, Alert.id))
    return tuple(alert_record(row) for row in rows)


def told_alerts(session: Session) -> int:
    """How many alerts are open that are more than a suspicion."""
    over = (AlertState.PENDING, AlertState.RESOLVED)
    return session.scalars(select(func.count()).select_from(Alert).where(Alert.state.not_in(over))).one()


def checks_evidence(session: Session, check_ids: Sequence[str], metric: str) -> list[CheckRun]:
    """The runs of these checks that were judged on `metric`, with everything they found, the first one first."""
    judged = (part for part in _runs_of(session, check_ids) if any(found.metric == metric for found in part.evidence))
    return sorted(judged, key=lambda part: (part.run.started_at, part.run.id))


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

    def board(self) -> Board:
        with self._sessions.read() as session:
            return board(session)

    def check_evidence(self, check_ids: Sequence[str]) -> dict[str, tuple[EvidenceRecord, ...]]:
        with self._sessions.read() as session:
            return check_evidence(session, check_ids)

    def latest_evidence(
        self, endpoint_ids: Sequence[str], metrics: Collection[str]
    ) -> Mapping[str, tuple[EvidenceRecord, ...]]:
        with self._sessions.read() as session:
            return latest_evidence(session, endpoint_ids, metrics)

    def standing_evidence(self, endpoint_id: str) -> tuple[tuple[StandingVerdict, EvidenceRecord], ...]:
        with self._sessions.read() as session:
            return standing_evidence(session, endpoint_id)

    def days(self, metrics: Mapping[str, str], since: datetime) -> dict[str, tuple[Day, ...]]:
        with self._sessions.read() as session:
            return days(session, metrics, since)

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
