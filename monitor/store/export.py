"""Rows for export, chunk by chunk, so that an export of any size needs little memory and holds no long transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from monitor.store.browse_records import sample_record
from monitor.store.runs import run_records
from monitor.store.session import Sessions
from monitor.store.tables import MetricPoint, Run, Sample

CHUNK = 2000

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """None stands for any; the times are those of a run's start, a sample's entry, a point."""

    endpoint_id: str | None = None
    metric: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Export:
    """Every chunk is one transaction; rows that come in meanwhile may or may not be among them, none is twice."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def runs(self, wanted: Wanted) -> Iterator[Sequence[Row]]:
        """By id, which is by start."""
        yield from self._chunks(_run_rows, wanted, "")

    def samples(self, wanted: Wanted) -> Iterator[Sequence[Row]]:
        """In the order in which they came; facts only."""
        yield from self._chunks(_sample_rows, wanted, 0)

    def points(self, wanted: Wanted) -> Iterator[Sequence[Row]]:
        """Single points of metrics, in the order in which they came."""
        yield from self._chunks(_point_rows, wanted, 0)

    def _chunks(self, read: Any, wanted: Wanted, start: str | int) -> Iterator[Sequence[Row]]:
        after = start
        while True:
            with self._sessions.read() as session:
                rows: list[Row] = read(session, wanted, after)
            if not rows:
                return
            yield rows
            after = rows[-1]["id"]


def _run_rows(session: Session, wanted: Wanted, after: str) -> list[Row]:
    query = _of(select(Run.id), Run.endpoint_id, Run.started_at, wanted).where(Run.id > after)
    ids = session.scalars(query.order_by(Run.id).limit(CHUNK)).all()
    records = run_records(session, ids)
    return [_fields(records[run_id]) for run_id in ids]


def _sample_rows(session: Session, wanted: Wanted, after: int) -> list[Row]:
    query = _of(select(Sample), Sample.endpoint_id, Sample.created_at, wanted).where(Sample.id > after)
    return [_fields(sample_record(row)) for row in session.scalars(query.order_by(Sample.id).limit(CHUNK))]


def _point_rows(session: Session, wanted: Wanted, after: int) -> list[Row]:
    query = _of(select(MetricPoint), MetricPoint.endpoint_id, MetricPoint.ts, wanted).where(MetricPoint.id > after)
    if wanted.metric is not None:
        query = query.where(MetricPoint.metric == wanted.metric)
    return [_point(row) for row in session.scalars(query.order_by(MetricPoint.id).limit(CHUNK))]


def _point(row: MetricPoint) -> Row:
    return {
        "id": row.id,
        "endpoint_id": row.endpoint_id,
        "run_id": row.run_id,
        "metric": row.metric,
        "at": row.ts,
        "value": row.value,
        "n": row.n,
        "ci_low": row.ci_low,
        "ci_high": row.ci_high,
        "ci_level": row.ci_level,
    }


def _of(query: Select[*tuple[Any, ...]], endpoint: Any, at: Any, wanted: Wanted) -> Select[*tuple[Any, ...]]:
    if wanted.endpoint_id is not None:
        query = query.where(endpoint == wanted.endpoint_id)
    if wanted.since is not None:
        query = query.where(at >= wanted.since)
    return query if wanted.until is None else query.where(at < wanted.until)


def _fields(record: Any) -> Row:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}
