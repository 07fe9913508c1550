"""What stands of each endpoint: kept with every run that ends, so that however long its past is, one look tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from monitor.drift.rule import Verdict
from monitor.standing import StandingVerdict, followed, is_fidelity
from monitor.store.evidence import evidence_record
from monitor.store.pages import pages
from monitor.store.records import EvidenceRecord
from monitor.store.tables import Endpoint, Evidence, Run, StandingEvidence
from probes.plan import ProbeKind

_KEY = ("endpoint_id", "suite", "metric")


def follow(session: Session, run: Run, suite: str, found: Sequence[Evidence], at: datetime) -> None:
    """Let the evidence of a run that ends, already in the database, take the place of what stood before it. `suite` is
    the private suite that was asked."""
    if not found:
        return
    # Of two runs that end at once, both would take the place of the same evidence.
    session.execute(select(Endpoint.id).where(Endpoint.id == run.endpoint_id).with_for_update(key_share=True))
    of_run = StandingEvidence.endpoint_id == run.endpoint_id, StandingEvidence.suite == suite
    held = {one.metric: (one, row_id) for _, one, row_id in _read(session, _standing().where(*of_run))}
    rows = []
    for row in sorted(found, key=lambda row: row.metric):
        new = StandingVerdict(run.probe, suite, row.metric, row.verdict, at, at, run.check_id, run.id)
        before, before_id = held.get(row.metric, (None, row.id)) if _compared(run, row) else (None, row.id)
        stands = followed(before, new)
        rows.append(
            {
                "endpoint_id": run.endpoint_id,
                "suite": suite,
                "metric": row.metric,
                "evidence_id": before_id if stands is before else row.id,
                "latest_id": row.id,
                "since": stands.since,
            }
        )
    session.execute(_upsert(session.get_bind().dialect.name), rows)


def _compared(run: Run, row: Evidence) -> bool:
    """False where an endpoint has no reference any more: what was held against the one it had would stand for ever."""
    return run.reference_id is not None or not is_fidelity(row.metric) or row.verdict is not Verdict.INAPPLICABLE


def forget(session: Session, endpoint_id: str, probe: ProbeKind, suite: str) -> None:
    """Nothing stands any more that was held against a baseline which is closed now; what was held against the reference
    does."""
    rows = session.execute(
        select(StandingEvidence.metric)
        .join(Evidence, Evidence.id == StandingEvidence.evidence_id)
        .join(Run, Run.id == Evidence.run_id)
        .where(StandingEvidence.endpoint_id == endpoint_id, StandingEvidence.suite == suite, Run.probe == probe)
    )
    metrics = [metric for (metric,) in rows if not is_fidelity(metric)]
    session.execute(
        delete(StandingEvidence).where(
            StandingEvidence.endpoint_id == endpoint_id,
            StandingEvidence.suite == suite,
            StandingEvidence.metric.in_(metrics),
        )
    )


def standing_verdicts(
    session: Session, endpoint_ids: Sequence[str] | None = None
) -> Mapping[str, tuple[StandingVerdict, ...]]:
    """Of these endpoints, or of all, by endpoint."""
    queries = [_standing()]
    if endpoint_ids is not None:
        queries = [_standing().where(StandingEvidence.endpoint_id.in_(some)) for some in pages(endpoint_ids)]
    found: defaultdict[str, tuple[StandingVerdict, ...]] = defaultdict(tuple)
    for query in queries:
        for endpoint_id, one, _ in _read(session, query):
            found[endpoint_id] += (one,)
    return found


def standing_evidence(session: Session, endpoint_id: str) -> tuple[tuple[StandingVerdict, EvidenceRecord], ...]:
    """What stands of one endpoint, with what was found."""
    found = [
        (one, row_id)
        for _, one, row_id in _read(session, _standing().where(StandingEvidence.endpoint_id == endpoint_id))
    ]
    rows = session.scalars(select(Evidence).where(Evidence.id.in_([row_id for _, row_id in found])))
    records = {row.id: evidence_record(row) for row in rows}
    return tuple((one, records[row_id]) for one, row_id in found)


def latest_evidence(
    session: Session, endpoint_ids: Sequence[str], metrics: Collection[str]
) -> Mapping[str, tuple[EvidenceRecord, ...]]:
    """What was found last of each of these metrics, whatever it says, by endpoint."""
    found: defaultdict[str, tuple[EvidenceRecord, ...]] = defaultdict(tuple)
    for some in pages(endpoint_ids):
        rows = session.scalars(
            select(Evidence)
            .join(StandingEvidence, StandingEvidence.latest_id == Evidence.id)
            .where(StandingEvidence.endpoint_id.in_(some), StandingEvidence.metric.in_(list(metrics)))
            .order_by(Evidence.id)
        )
        for row in rows:
            found[row.endpoint_id] += (evidence_record(row),)
    return found


def _standing() -> Select[*tuple[Any, ...]]:
    return (
        select(
            StandingEvidence.endpoint_id,
            StandingEvidence.evidence_id,
            Run.probe,
            StandingEvidence.suite,
            StandingEvidence.metric,
            Evidence.verdict,
            StandingEvidence.since,
            Evidence.created_at,
            Run.check_id,
            Run.id,
        )
        .join(Evidence, Evidence.id == StandingEvidence.evidence_id)
        .join(Run, Run.id == Evidence.run_id)
        .order_by(Evidence.id)
    )


def _read(session: Session, query: Select[*tuple[Any, ...]]) -> Iterator[tuple[str, StandingVerdict, int]]:
    """The endpoint, what stands of it, and the id of its evidence."""
    for endpoint_id, evidence_id, *fields in session.execute(query):
        yield endpoint_id, StandingVerdict(*fields), evidence_id


@cache
def _upsert(dialect: str) -> Any:
    insert: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert
    new = insert(StandingEvidence)
    given = {name: new.excluded[name] for name in ("evidence_id", "latest_id", "since")}
    return new.on_conflict_do_update(index_elements=_KEY, set_=given)
