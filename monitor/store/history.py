"""The history of an endpoint: its checks, newest first, with what each one found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from monitor.drift.rule import roll_up
from monitor.store.endpoints import find_endpoints
from monitor.store.evidence import evidence_of
from monitor.store.pages import pages
from monitor.store.records import CheckRecord, CheckRun, EndpointRecord
from monitor.store.runs import run_records
from monitor.store.tables import BaselineRun, Run
from monitor.store.vocabulary import BaselineRole


def checks(
    session: Session, *, provider: str | None, model: str | None, since: datetime | None, limit: int
) -> list[CheckRecord]:
    """The latest `limit` checks that began at or after `since`, newest first."""
    endpoints = {found.id: found for found in find_endpoints(session, provider=provider, model=model)}
    began = func.min(Run.started_at)
    latest = (
        select(Run.check_id, Run.endpoint_id, began)
        .where(Run.endpoint_id.in_(endpoints))
        .group_by(Run.check_id, Run.endpoint_id)
        .order_by(began.desc(), Run.check_id.desc(), Run.endpoint_id.desc())
        .limit(limit)
    )
    if since is not None:
        latest = latest.having(began >= since)
    keys = [(check_id, endpoint_id) for check_id, endpoint_id, _ in session.execute(latest)]
    return [
        _check(key, endpoints[key[1]], runs[key])
        for some in pages(keys)
        for runs in [_runs(session, [check_id for check_id, _ in some])]
        for key in some
    ]


def _check(key: tuple[str, str], endpoint: EndpointRecord, runs: Sequence[CheckRun]) -> CheckRecord:
    evidence = [found for part in runs for found in part.evidence]
    return CheckRecord(
        check_id=key[0],
        endpoint=endpoint,
        at=runs[0].run.started_at,
        verdict=roll_up(found.verdict for found in evidence if found.counted) if evidence else None,
        runs=tuple(runs),
    )


def _runs(session: Session, check_ids: Sequence[str]) -> dict[tuple[str, str], list[CheckRun]]:
    ids = session.scalars(select(Run.id).where(Run.check_id.in_(check_ids)).order_by(Run.started_at, Run.id)).all()
    records = run_records(session, ids)
    evidence = evidence_of(session, ids)
    roles = _roles(session, ids)
    grouped: defaultdict[tuple[str, str], list[CheckRun]] = defaultdict(list)
    for run_id in ids:
        run = records[run_id]
        grouped[run.check_id, run.endpoint_id].append(CheckRun(run, evidence[run_id], roles.get(run_id)))
    return grouped


def _roles(session: Session, ids: Sequence[str]) -> dict[str, BaselineRole]:
    """How each run came into its first baseline; what a person made of it later does not change what the check was."""
    rows = session.execute(
        select(BaselineRun.run_id, BaselineRun.role)
        .where(BaselineRun.run_id.in_(ids))
        .order_by(BaselineRun.added_at.desc())
    )
    return {row.run_id: row.role for row in rows}
