"""What is looked through page by page: endpoints, models, checks, runs, samples, changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, aliased

from monitor.store.baselines import members
from monitor.store.browse_records import (
    ChangeFilter,
    ChangeRecord,
    CheckFilter,
    EndpointFilter,
    EndpointOverview,
    RunFilter,
    SampleRecord,
    Standing,
    sample_record,
)
from monitor.store.endpoints import endpoint_records
from monitor.store.entries import CheckEntry
from monitor.store.evidence import evidence_of
from monitor.store.keyset import Page, Window, read_page
from monitor.store.pages import pages
from monitor.store.queue_reading import entries
from monitor.store.records import BaselineRecord, CheckRun, RunRecord
from monitor.store.runs import run_records
from monitor.store.session import Sessions
from monitor.store.standing import standing_verdicts
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

ENDPOINT_SORTS = {"created_at": Endpoint.created_at, "provider": Provider.slug, "model": Model.slug}
CHECK_SORTS = {"queued_at": EndpointCheck.queued_at, "slot_at": EndpointCheck.slot_at}
RUN_SORTS = {"started_at": Run.started_at, "n_bad": Run.n_bad, "n_err": Run.n_err}
# What was never measured comes before the fastest.
SAMPLE_SORTS = {"id": SampleRow.id, "total_ms": func.coalesce(SampleRow.total_ms, -1.0)}
CHANGE_SORTS = {"at": ChangeEvent.at}
BASELINE_SORTS = {"created_at": Baseline.created_at}


def endpoints(session: Session, wanted: EndpointFilter, window: Window) -> Page[EndpointOverview]:
    """The newest first, unless the window says otherwise; so are the other lists."""
    query = (
        select(Endpoint.id)
        .join(Provider, Provider.id == Endpoint.provider_id)
        .join(Model, Model.id == Endpoint.model_id)
        .where(*_labelled(wanted.labels))
    )
    query = _where(query, (Provider.slug, wanted.provider), (Model.slug, wanted.model))
    page = read_page(session, query, ENDPOINT_SORTS, Endpoint.id, window)
    return page.of(overviews(session, page.items))


def overviews(session: Session, endpoint_ids: Sequence[str]) -> list[EndpointOverview]:
    """Those of the endpoints that exist, in the order in which they are given."""
    records = endpoint_records(session, endpoint_ids)
    known = [endpoint_id for endpoint_id in endpoint_ids if endpoint_id in records]
    latest = _last_checks(session, known, judged=False)
    judged = _last_checks(session, known, judged=True)
    standing = standing_verdicts(session, known)
    return [
        EndpointOverview(records[each], latest.get(each), judged.get(each), standing.get(each, ())) for each in known
    ]


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


def checks(session: Session, wanted: CheckFilter, window: Window) -> Page[CheckEntry]:
    query = _of_endpoints(select(EndpointCheck.id), EndpointCheck.endpoint_id, wanted)
    query = _where(
        query,
        (EndpointCheck.endpoint_id, wanted.endpoint_id),
        (EndpointCheck.status, wanted.status),
        (EndpointCheck.verdict, wanted.verdict),
        (EndpointCheck.trigger, wanted.trigger),
    )
    query = _between(query, EndpointCheck.queued_at, wanted.since, wanted.until)
    page = read_page(session, query, CHECK_SORTS, EndpointCheck.id, window)
    found = entries(session, page.items)
    return page.of(found[check_id] for check_id in page.items)


def runs(session: Session, wanted: RunFilter, window: Window) -> Page[RunRecord]:
    query = _of_endpoints(select(Run.id), Run.endpoint_id, wanted)
    query = _where(
        query,
        (Run.endpoint_id, wanted.endpoint_id),
        (Run.check_id, wanted.check_id),
        (Run.probe, wanted.probe),
        (Run.status, wanted.status),
    )
    query = _between(query, Run.started_at, wanted.since, wanted.until)
    page = read_page(session, query, RUN_SORTS, Run.id, window)
    found = run_records(session, page.items)
    return page.of(found[run_id] for run_id in page.items)


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
    """Ascending: in the order in which they came."""
    page = read_page(session, select(SampleRow).where(SampleRow.run_id == run_id), SAMPLE_SORTS, SampleRow.id, window)
    return page.of(map(sample_record, page.items))


def changes(session: Session, wanted: ChangeFilter, window: Window) -> Page[ChangeRecord]:
    query = _where(select(ChangeEvent), (ChangeEvent.endpoint_id, wanted.endpoint_id), (ChangeEvent.kind, wanted.kind))
    query = _between(query, ChangeEvent.at, wanted.since, wanted.until)
    page = read_page(session, query, CHANGE_SORTS, ChangeEvent.id, window)
    return page.of(ChangeRecord(row.id, row.endpoint_id, row.kind, row.text, row.at) for row in page.items)


def baselines(
    session: Session, endpoint_id: str | None, status: BaselineStatus | None, window: Window
) -> Page[BaselineRecord]:
    query = _where(select(Baseline), (Baseline.endpoint_id, endpoint_id), (Baseline.status, status))
    page = read_page(session, query, BASELINE_SORTS, Baseline.id, window)
    return page.of(
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
        for row in page.items
    )


def _of_endpoints(query: Select[str], endpoint_id: Any, wanted: CheckFilter | RunFilter) -> Select[str]:
    """`query` for the endpoints of one provider, one model, with some labels."""
    if wanted.provider is None and wanted.model is None and not wanted.labels:
        return query
    query = query.join(Endpoint, Endpoint.id == endpoint_id).where(*_labelled(wanted.labels))
    if wanted.provider is not None:
        query = query.join(Provider, Provider.id == Endpoint.provider_id).where(Provider.slug == wanted.provider)
    if wanted.model is not None:
        query = query.join(Model, Model.id == Endpoint.model_id).where(Model.slug == wanted.model)
    return query


def _labelled(labels: Mapping[str, str]) -> list[ColumnElement[bool]]:
    return [Endpoint.labels[name].as_string() == value for name, value in labels.items()]


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
