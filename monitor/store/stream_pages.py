"""What streams leave behind, page by page: looks, epochs and evidence; and the path of an endpoint's E by time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import String, cast, func, or_, select
from sqlalchemy.orm import Session

from monitor.store.keyset import Page, Window, read_page
from monitor.store.series import Span
from monitor.store.stream_records import EpochRecord
from monitor.store.stream_rows import record_of
from monitor.store.stream_view_records import LookRecord, PathPoint, StreamEvidenceRecord, StreamPath
from monitor.store.tables import EndpointEpoch, EndpointLook, Stream, StreamEpoch, StreamEvidence
from monitor.store.vocabulary import StreamTier

LOOK_SORTS = {"at": EndpointLook.at}
EPOCH_SORTS = {"number": EndpointEpoch.number}
EVIDENCE_SORTS = {"sequence": StreamEvidence.sequence}
# More than a chart is pixels wide.
MOST_POINTS = 1_000
_NOTHING_CAME = "[]"


@dataclass(frozen=True, slots=True)
class LookFilter:
    """`news`: only looks that something came of."""

    endpoint_id: str
    epoch: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    news: bool = False


@dataclass(frozen=True, slots=True)
class StreamEvidenceFilter:
    """Of one epoch; `tier` and `probe_set` name a stream."""

    endpoint_id: str
    epoch: int
    tier: StreamTier | None = None
    probe_set: str | None = None


def looks(session: Session, wanted: LookFilter, window: Window) -> Page[LookRecord]:
    """The latest first, unless the window says otherwise; so are the other lists."""
    numbers = _numbers(session, wanted)
    query = select(EndpointLook).where(EndpointLook.epoch_id.in_(numbers))
    if wanted.since is not None:
        query = query.where(EndpointLook.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(EndpointLook.at < wanted.until)
    if wanted.news:
        query = query.where(_something_came())
    page = read_page(session, query, LOOK_SORTS, EndpointLook.id, window)
    return page.of(look_record(row, numbers[row.epoch_id]) for row in page.items)


def news(session: Session, epoch: EndpointEpoch, most: int) -> tuple[LookRecord, ...]:
    """The last looks of an epoch that something came of, the first one first."""
    query = (
        select(EndpointLook)
        .where(EndpointLook.epoch_id == epoch.id, _something_came())
        .order_by(EndpointLook.id.desc())
        .limit(most)
    )
    return tuple(look_record(row, epoch.number) for row in session.scalars(query).all()[::-1])


def last_look(session: Session, epoch: EndpointEpoch) -> LookRecord | None:
    query = select(EndpointLook).where(EndpointLook.epoch_id == epoch.id).order_by(EndpointLook.id.desc()).limit(1)
    row = session.scalars(query).one_or_none()
    return None if row is None else look_record(row, epoch.number)


def epochs(session: Session, endpoint_id: str, window: Window) -> Page[EpochRecord]:
    query = select(EndpointEpoch).where(EndpointEpoch.endpoint_id == endpoint_id)
    page = read_page(session, query, EPOCH_SORTS, EndpointEpoch.id, window)
    return page.of(record_of(session, row) for row in page.items)


def evidence(session: Session, wanted: StreamEvidenceFilter, window: Window) -> Page[StreamEvidenceRecord]:
    query = (
        select(StreamEvidence.id)
        .join(StreamEpoch, StreamEpoch.id == StreamEvidence.stream_epoch_id)
        .join(EndpointEpoch, EndpointEpoch.id == StreamEpoch.epoch_id)
        .join(Stream, Stream.id == StreamEvidence.stream_id)
        .where(StreamEvidence.endpoint_id == wanted.endpoint_id, EndpointEpoch.number == wanted.epoch)
    )
    if wanted.tier is not None:
        query = query.where(Stream.tier == wanted.tier)
    if wanted.probe_set is not None:
        query = query.where(Stream.probe_set == wanted.probe_set)
    page = read_page(session, query, EVIDENCE_SORTS, StreamEvidence.id, window)
    found = evidence_records(session, StreamEvidence.id.in_(page.items))
    return page.of(found[one] for one in page.items)


def evidence_records(session: Session, condition: Any) -> dict[int, StreamEvidenceRecord]:
    """By their ids."""
    rows = session.execute(
        select(StreamEvidence, Stream, StreamEpoch.escalation, EndpointEpoch.number)
        .join(Stream, Stream.id == StreamEvidence.stream_id)
        .join(StreamEpoch, StreamEpoch.id == StreamEvidence.stream_epoch_id)
        .join(EndpointEpoch, EndpointEpoch.id == StreamEpoch.epoch_id)
        .where(condition)
    )
    return {
        row.id: StreamEvidenceRecord(
            id=row.id,
            sequence=row.sequence,
            epoch=number,
            escalation=escalation,
            tier=stream.tier,
            probe_set=stream.probe_set,
            run_id=row.run_id,
            at=datetime.fromtimestamp(row.at, UTC),
            says=row.says,
            n=row.n,
            tokens=row.tokens,
            reasons=tuple(row.reasons),
            value=row.value,
            added_at=row.added_at,
        )
        for row, stream, escalation, number in rows
    }


def path(session: Session, endpoint_id: str, span: Span, most: int = MOST_POINTS) -> StreamPath:
    """An endpoint's E at its looks within a time. Where there are more than `most`, the highest of each of so many
    equal parts of the time, and every one that something came of."""
    touching = (
        select(EndpointEpoch)
        .where(
            EndpointEpoch.endpoint_id == endpoint_id,
            EndpointEpoch.opened_at < span.end,
            or_(EndpointEpoch.closed_at.is_(None), EndpointEpoch.closed_at >= span.start),
        )
        .order_by(EndpointEpoch.number)
    )
    rows = session.scalars(touching).all()
    numbers = {row.id: row.number for row in rows}
    query = (
        select(
            EndpointLook.at,
            EndpointLook.epoch_id,
            EndpointLook.level,
            EndpointLook.worth,
            EndpointLook.value,
            EndpointLook.events,
        )
        .where(EndpointLook.epoch_id.in_(numbers), EndpointLook.at >= span.start, EndpointLook.at < span.end)
        .order_by(EndpointLook.at, EndpointLook.id)
    )
    points = [
        PathPoint(at, numbers[epoch_id], level, worth, value, tuple(events))
        for at, epoch_id, level, worth, value, events in session.execute(query)
    ]
    return StreamPath(tuple(_thinned(points, span, most)), len(points), tuple(record_of(session, row) for row in rows))


def _thinned(points: Sequence[PathPoint], span: Span, most: int) -> Iterable[PathPoint]:
    if len(points) <= most:
        return points
    width = (span.end - span.start) / most
    highest: dict[tuple[int, int], int] = {}
    for place, point in enumerate(points):
        part = (point.epoch, int((point.at - span.start) / width))
        if part not in highest or point.worth > points[highest[part]].worth:
            highest[part] = place
    kept = {*highest.values(), len(points) - 1, *(place for place, point in enumerate(points) if point.events)}
    return [points[place] for place in sorted(kept)]


def look_record(row: EndpointLook, epoch: int) -> LookRecord:
    return LookRecord(
        id=row.id,
        epoch=epoch,
        kind=row.kind,
        at=row.at,
        run_id=row.run_id,
        level=row.level,
        worth=row.worth,
        value=row.value,
        proven=row.proven,
        escalated=row.escalated,
        events=tuple(row.events),
        our_side=row.our_side,
    )


def _numbers(session: Session, wanted: LookFilter) -> dict[int, int]:
    """The epochs that are looked through, by their ids."""
    query = select(EndpointEpoch.id, EndpointEpoch.number).where(EndpointEpoch.endpoint_id == wanted.endpoint_id)
    if wanted.epoch is not None:
        query = query.where(EndpointEpoch.number == wanted.epoch)
    return {row[0]: row[1] for row in session.execute(query)}


def _something_came() -> Any:
    return func.trim(cast(EndpointLook.events, String)) != _NOTHING_CAME
