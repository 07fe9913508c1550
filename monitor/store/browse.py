"""What is looked through page by page: endpoints, models, checks, runs, samples, changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, aliased

from monitor.store.baselines import members
from monitor.store.browse_records import (
    ChangeFilter,
    ChangeRecord,
    CheckFilter,
    EndpointFilter,
    EndpointOverview,
    ModelRecord,
    RunFilter,
    SampleRecord,
    Standing,
    sample_record,
)
from monitor.store.endpoints import endpoint_records
from monitor.store.entries import CheckEntry
from monitor.store.evidence import evidence_of
from monitor.store.keyset import Page, Position, Window, page_of, windowed
from monitor.store.pages import pages
from monitor.store.queue_reading import entries
from monitor.store.records import BaselineRecord, CheckRun, RunRecord
from monitor.store.runs import run_records
from monitor.store.session import Sessions
from monitor.store.tables import (
    Alert,
    Baseline,
    BaselineRun,
    ChangeEvent,
    Endpoint,
    EndpointCheck,
    Model,
    Provider,
    Run,
)
from monitor.store.tables import Sample as SampleRow
from monitor.store.vocabulary import AlertState, BaselineStatus


def endpoints(session: Session, wanted: EndpointFilter, window: Window) -> Page[EndpointOverview]:
    """The newest first."""
    query = _of_provider_and_model(select(Endpoint.id, Endpoint.created_at), wanted.provider, wanted.model)
    rows = session.execute(windowed(query, Endpoint.created_at, Endpoint.id, window)).all()
    page = page_of([(row[0], row[1]) for row in rows], window, lambda row: Position(row[1], row[0]))
    found = overviews(session, [endpoint_id for endpoint_id, _ in page.items])
    return Page(tuple(found), page.next)


def overviews(session: Session, endpoint_ids: Sequence[str]) -> list[EndpointOverview]:
    """Those of the endpoints that exist, in the order in which they are given."""
    records = endpoint_records(session, endpoint_ids)
    known = [endpoint_id for endpoint_id in endpoint_ids if endpoint_id in records]
    latest = _last_checks(session, known, judged=False)
    judged = _last_checks(session, known, judged=True)
    return [EndpointOverview(records[each], latest.get(each), judged.get(each)) for each in known]


def standing(session: Session) -> Standing:
    ids = session.scalars(select(Endpoint.id).order_by(Endpoint.created_at, Endpoint.id)).all()
    told = Alert.state.not_in((AlertState.PENDING, AlertState.RESOLVED))
    alerts = session.scalars(select(func.count()).select_from(Alert).where(told)).one()
    return Standing(tuple(overviews(session, ids)), alerts)


def _last_checks(session: Session, endpoint_ids: Sequence[str], *, judged: bool) -> dict[str, CheckEntry]:
    inner = aliased(EndpointCheck)
    last = select(inner.id).where(inner.endpoint_id == Endpoint.id)
    if judged:
        last = last.where(inner.verdict.is_not(None))
    newest = last.order_by(inner.queued_at.desc(), inner.id.desc()).limit(1).correlate(Endpoint).scalar_subquery()
    ids = [
        check_id
        for some in pages(endpoint_ids)
        for check_id in session.scalars(select(newest).select_from(Endpoint).where(Endpoint.id.in_(some)))
        if check_id is not None
    ]
    return {found.endpoint_id: found for found in entries(session, ids).values()}


def models(session: Session, window: Window) -> Page[ModelRecord]:
    """By slug."""
    rows = session.scalars(windowed(select(Model), Model.slug, Model.id, window)).all()
    records = [ModelRecord(row.id, row.slug, row.created_at) for row in rows]
    return page_of(records, window, lambda model: Position(model.slug, model.id))


def checks(session: Session, wanted: CheckFilter, window: Window) -> Page[CheckEntry]:
    query = select(EndpointCheck.id, EndpointCheck.queued_at)
    if wanted.provider is not None or wanted.model is not None:
        query = query.join(Endpoint, Endpoint.id == EndpointCheck.endpoint_id)
        query = _of_provider_and_model(query, wanted.provider, wanted.model)
    query = _where(
        query,
        (EndpointCheck.endpoint_id, wanted.endpoint_id),
        (EndpointCheck.status, wanted.status),
        (EndpointCheck.verdict, wanted.verdict),
        (EndpointCheck.trigger, wanted.trigger),
    )
    query = _between(query, EndpointCheck.queued_at, wanted.since, wanted.until)
    rows = session.execute(windowed(query, EndpointCheck.queued_at, EndpointCheck.id, window)).all()
    page = page_of([(row[0], row[1]) for row in rows], window, lambda row: Position(row[1], row[0]))
    found = entries(session, [check_id for check_id, _ in page.items])
    return Page(tuple(found[check_id] for check_id, _ in page.items), page.next)


def runs(session: Session, wanted: RunFilter, window: Window) -> Page[RunRecord]:
    query = select(Run.id, Run.started_at)
    if wanted.provider is not None or wanted.model is not None:
        query = query.join(Endpoint, Endpoint.id == Run.endpoint_id)
        query = _of_provider_and_model(query, wanted.provider, wanted.model)
    query = _where(
        query,
        (Run.endpoint_id, wanted.endpoint_id),
        (Run.check_id, wanted.check_id),
        (Run.probe, wanted.probe),
        (Run.status, wanted.status),
    )
    query = _between(query, Run.started_at, wanted.since, wanted.until)
    rows = session.execute(windowed(query, Run.started_at, Run.id, window)).all()
    page = page_of([(row[0], row[1]) for row in rows], window, lambda row: Position(row[1], row[0]))
    found = run_records(session, [run_id for run_id, _ in page.items])
    return Page(tuple(found[run_id] for run_id, _ in page.items), page.next)


def run(session: Session, run_id: str) -> CheckRun | None:
    """A run with its evidence and how it came into its first baseline."""
    record = run_records(session, [run_id]).get(run_id)
    if record is None:
        return None
    role = session.scalars(
        select(BaselineRun.role).where(BaselineRun.run_id == run_id).order_by(BaselineRun.added_at).limit(1)
    ).first()
    return CheckRun(record, evidence_of(session, [run_id])[run_id], role)


def samples(session: Session, run_id: str, window: Window) -> Page[SampleRecord]:
    """In the order in which they came."""
    query = select(SampleRow).where(SampleRow.run_id == run_id)
    rows = session.scalars(windowed(query, SampleRow.id, SampleRow.id, window)).all()
    return page_of([sample_record(row) for row in rows], window, lambda sample: Position(sample.id, sample.id))


def changes(session: Session, wanted: ChangeFilter, window: Window) -> Page[ChangeRecord]:
    query = _where(select(ChangeEvent), (ChangeEvent.endpoint_id, wanted.endpoint_id), (ChangeEvent.kind, wanted.kind))
    query = _between(query, ChangeEvent.at, wanted.since, wanted.until)
    rows = session.scalars(windowed(query, ChangeEvent.at, ChangeEvent.id, window)).all()
    records = [ChangeRecord(row.id, row.endpoint_id, row.kind, row.text, row.at) for row in rows]
    return page_of(records, window, lambda change: Position(change.at, change.id))


def baselines(
    session: Session, endpoint_id: str | None, status: BaselineStatus | None, window: Window
) -> Page[BaselineRecord]:
    query = _where(select(Baseline), (Baseline.endpoint_id, endpoint_id), (Baseline.status, status))
    rows = session.scalars(windowed(query, Baseline.created_at, Baseline.id, window)).all()
    records = [
        BaselineRecord(
            id=row.id,
            endpoint_id=row.endpoint_id,
            probe=row.probe,
            version=row.version,
            status=row.status,
            set_by=row.set_by,
            note=row.note,
            created_at=row.created_at,
            closed_at=row.closed_at,
            runs=members(session, row.id),
        )
        for row in rows
    ]
    return page_of(records, window, lambda found: Position(found.created_at, found.id))


def _of_provider_and_model(query: Select[*tuple[Any, ...]], provider: str | None, model: str | None) -> Any:
    """`query`, which knows the endpoint, for one provider and one model."""
    if provider is not None:
        query = query.join(Provider, Provider.id == Endpoint.provider_id).where(Provider.slug == provider)
    if model is not None:
        query = query.join(Model, Model.id == Endpoint.model_id).where(Model.slug == model)
    return query


def _where(query: Any, *wanted: tuple[Any, Any]) -> Any:
    for column, value in wanted:
        if value is not None:
            query = query.where(column == value)
    return query


def _between(query: Any, column: Any, since: datetime | None, until: datetime | None) -> Any:
    if since is not None:
        query = query.where(column >= since)
    return query if until is None else query.where(column < until)


class Browse:
    """Every method is one transaction that only reads."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def endpoints(self, wanted: EndpointFilter, window: Window) -> Page[EndpointOverview]:
        with self._sessions.read() as session:
            return endpoints(session, wanted, window)

    def endpoint(self, endpoint_id: str) -> EndpointOverview | None:
        with self._sessions.read() as session:
            return next(iter(overviews(session, [endpoint_id])), None)

    def standing(self) -> Standing:
        with self._sessions.read() as session:
            return standing(session)

    def models(self, window: Window) -> Page[ModelRecord]:
        with self._sessions.read() as session:
            return models(session, window)

    def checks(self, wanted: CheckFilter, window: Window) -> Page[CheckEntry]:
        with self._sessions.read() as session:
            return checks(session, wanted, window)

    def check(self, check_id: str) -> CheckEntry | None:
        with self._sessions.read() as session:
            return entries(session, [check_id]).get(check_id)

    def runs(self, wanted: RunFilter, window: Window) -> Page[RunRecord]:
        with self._sessions.read() as session:
            return runs(session, wanted, window)

    def run(self, run_id: str) -> CheckRun | None:
        with self._sessions.read() as session:
            return run(session, run_id)

    def samples(self, run_id: str, window: Window) -> Page[SampleRecord]:
        with self._sessions.read() as session:
            return samples(session, run_id, window)

    def changes(self, wanted: ChangeFilter, window: Window) -> Page[ChangeRecord]:
        with self._sessions.read() as session:
            return changes(session, wanted, window)

    def baselines(self, endpoint_id: str | None, status: BaselineStatus | None, window: Window) -> Page[BaselineRecord]:
        with self._sessions.read() as session:
            return baselines(session, endpoint_id, status, window)
