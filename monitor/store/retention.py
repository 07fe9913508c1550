"""What is deleted once its time has passed: in small transactions, so that no other writer waits for long."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Select, delete, exists, select
from sqlalchemy.orm import QueryableAttribute, Session

from monitor.config.service import Retention as Kept
from monitor.store.beats import forget
from monitor.store.pages import pages
from monitor.store.session import Sessions
from monitor.store.tables import ConfigObject, MetricPoint, MetricRollup, Sample, SampleBody, ServiceEvent
from monitor.store.vocabulary import Bucket, ConfigKind

AT_ONCE = 5000

# What came before one time goes, at another.
Prune = Callable[[Session, datetime, datetime], int]


def bodies_kept(session: Session) -> timedelta | None:
    """How long the stored configuration keeps requests and answers; None where none is stored, or none can be read."""
    if not session.scalars(select(exists().select_from(ConfigObject))).one():
        return None
    stored = select(ConfigObject.body).where(ConfigObject.kind == ConfigKind.RETENTION, ConfigObject.enabled)
    try:
        return timedelta(seconds=Kept.model_validate(session.scalars(stored).one_or_none() or {}).bodies)
    except ValidationError:
        # Whoever reads the configuration says so; what is not understood is no reason to delete.
        return None


def old_bodies(session: Session, before: datetime, at: datetime) -> list[int]:
    """Some of the requests and answers of samples that came before then, by the ids of their samples."""
    oldest = (
        select(SampleBody.sample_id, Sample.created_at)
        .join(Sample, Sample.id == SampleBody.sample_id)
        .order_by(SampleBody.sample_id)
    )
    return _older(session, oldest, Sample.created_at, before, at)


def bodies(session: Session, before: datetime, at: datetime) -> int:
    """Requests and answers of samples that came before then."""
    ids = old_bodies(session, before, at)
    for some in pages(ids):
        session.execute(delete(SampleBody).where(SampleBody.sample_id.in_(some)))
    return len(ids)


def samples(session: Session, before: datetime, at: datetime) -> int:
    """Samples that came before then, with their bodies; what was seen of them stays, and so does what was found."""
    ids = _older(session, select(Sample.id, Sample.created_at).order_by(Sample.id), Sample.created_at, before, at)
    for some in pages(ids):
        session.execute(delete(SampleBody).where(SampleBody.sample_id.in_(some)))
        session.execute(delete(Sample).where(Sample.id.in_(some)))
    return len(ids)


def points(session: Session, before: datetime, at: datetime) -> int:
    """Single points of charts; their hours and days stay."""
    ids = _older(session, select(MetricPoint.id, MetricPoint.ts).order_by(MetricPoint.id), MetricPoint.ts, before, at)
    for some in pages(ids):
        session.execute(delete(MetricPoint).where(MetricPoint.id.in_(some)))
    return len(ids)


def _older(
    session: Session,
    oldest: Select[int, datetime],
    time: ColumnElement[datetime] | QueryableAttribute[datetime],
    before: datetime,
    at: datetime,
) -> list[int]:
    """Of the first rows by key, which come in order of time as good as always, those that are old enough: no look-up
    of a table that has none. Rows of a clock that ran ahead are stepped over."""
    first = oldest.where(time <= at).limit(AT_ONCE)
    return [key for key, came in session.execute(first) if came < before]


def hours(session: Session, before: datetime, _at: datetime) -> int:
    """Hourly sums; the daily ones stay."""
    old = (MetricRollup.bucket == Bucket.HOUR, MetricRollup.start < before)
    keys = session.execute(
        select(MetricRollup.endpoint_id, MetricRollup.metric, MetricRollup.start).where(*old).limit(AT_ONCE)
    ).all()
    for endpoint_id, metric, start in keys:
        session.execute(
            delete(MetricRollup).where(
                MetricRollup.endpoint_id == endpoint_id,
                MetricRollup.metric == metric,
                MetricRollup.bucket == Bucket.HOUR,
                MetricRollup.start == start,
            )
        )
    return len(keys)


def news(session: Session, before: datetime, _at: datetime) -> int:
    """Events of the service that every channel has heard of."""
    told = select(ServiceEvent.id).where(ServiceEvent.at < before, ServiceEvent.fanned_out_at.is_not(None))
    ids = session.scalars(told.limit(AT_ONCE)).all()
    for some in pages(ids):
        session.execute(delete(ServiceEvent).where(ServiceEvent.id.in_(some)))
    return len(ids)


class Retention:
    """Deletes from one database. `prune` is one transaction a call."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def prune(self, what: Prune, before: datetime, at: datetime) -> int:
        """Delete some of what is older; how many rows, 0 where nothing is left to delete."""
        with self._sessions.write() as session:
            deleted = what(session, before, at)
        if deleted:
            self._sessions.give_back_space()
        return deleted

    def forget_processes(self, seen_before: datetime) -> None:
        with self._sessions.write() as session:
            forget(session, seen_before)
