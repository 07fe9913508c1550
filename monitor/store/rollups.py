"""Adds the points of a run to the sums of their hour and day, so that long charts never read single points."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import LargeBinary, case, cast
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from monitor.store.quantiles import packed
from monitor.store.records import MetricPoint
from monitor.store.tables import MetricRollup
from monitor.store.vocabulary import Bucket

WIDTHS = {Bucket.HOUR: timedelta(hours=1), Bucket.DAY: timedelta(days=1)}

_KEY = ("endpoint_id", "metric", "bucket", "start")
_SUMS = ("n", "points", "total", "total_squares")


def bucket_start(bucket: Bucket, at: datetime) -> datetime:
    """The start of the hour or day, in UTC, that `at` (in UTC) lies in."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    return hour if bucket is Bucket.HOUR else hour.replace(hour=0)


def add_to_rollups(session: Session, endpoint_id: str, at: datetime, points: Sequence[MetricPoint]) -> None:
    """Add points that stand at `at` (in UTC) to their two rollups each.

    In one order, so that two runs that end at the same time do not wait for each other's rows in a circle.
    """
    rows = [
        {"endpoint_id": endpoint_id, "bucket": bucket, "start": bucket_start(bucket, at), **_values(point)}
        for bucket in Bucket
        for point in sorted(points, key=lambda point: point.metric)
    ]
    if rows:
        session.execute(_upsert(session.get_bind().dialect.name), rows)


def _values(point: MetricPoint) -> dict[str, Any]:
    return {
        "metric": point.metric,
        "n": point.n,
        "points": 1,
        "total": point.value,
        "total_squares": point.value * point.value,
        "least": point.value,
        "most": point.value,
        "point_values": packed(point.value),
    }


# Made once for each kind of database: a run writes a dozen rows, and building this costs more than they do.
@cache
def _upsert(dialect: str) -> Any:
    insert: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert
    new = insert(MetricRollup)
    given = new.excluded
    # The smaller and greater of two numbers have different names on the two databases.
    extremes = {
        "least": case((given.least < MetricRollup.least, given.least), else_=MetricRollup.least),
        "most": case((given.most > MetricRollup.most, given.most), else_=MetricRollup.most),
    }
    sums = {name: getattr(MetricRollup, name) + given[name] for name in _SUMS}
    # SQLite joins bytes as it should, but calls the result text. What is not known (null) stays so.
    joined = {"point_values": cast(MetricRollup.point_values.concat(given.point_values), LargeBinary)}
    return new.on_conflict_do_update(index_elements=_KEY, set_={**sums, **extremes, **joined})
