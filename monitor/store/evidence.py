"""Evidence and chart points between their rows and their values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.drift.cause import Cause
from monitor.drift.interval import Interval
from monitor.drift.stages import STAGE, Stage
from monitor.store.records import EvidenceRecord, MetricPoint
from monitor.store.tables import Evidence, Run
from monitor.store.tables import MetricPoint as MetricPointRow


def evidence_row(run: Run, found: EvidenceRecord, at: datetime) -> Evidence:
    return Evidence(
        run_id=run.id,
        endpoint_id=run.endpoint_id,
        created_at=at,
        metric=found.metric,
        detector=found.detector,
        detector_version=found.detector_version,
        verdict=found.verdict,
        reason=found.reason,
        counted=found.counted,
        statistic=found.statistic,
        p=found.p,
        adjusted_p=found.adjusted_p,
        value=found.value,
        unit=found.unit,
        ci_low=found.interval.low if found.interval else None,
        ci_high=found.interval.high if found.interval else None,
        ci_level=found.interval.level if found.interval else None,
        baseline=found.baseline,
        detectable=found.detectable,
        target=found.target,
        n=found.n,
        tokens=found.tokens,
        effect={"causes": [asdict(cause) for cause in found.causes], "detail": dict(found.detail)},
    )


def point_row(run: Run, point: MetricPoint) -> MetricPointRow:
    """A point stands at the run's start: that is the time it tells about."""
    return MetricPointRow(
        endpoint_id=run.endpoint_id,
        run_id=run.id,
        metric=point.metric,
        ts=run.started_at,
        value=point.value,
        n=point.n,
        ci_low=point.interval.low if point.interval else None,
        ci_high=point.interval.high if point.interval else None,
        ci_level=point.interval.level if point.interval else None,
    )


def evidence_of(session: Session, run_ids: Sequence[str]) -> dict[str, tuple[EvidenceRecord, ...]]:
    """The evidence of each run, in the order in which it was given."""
    query = select(Evidence).where(Evidence.run_id.in_(run_ids)).order_by(Evidence.id)
    found: defaultdict[str, list[EvidenceRecord]] = defaultdict(list)
    for row in session.scalars(query):
        found[row.run_id].append(evidence_record(row))
    return {run_id: tuple(found[run_id]) for run_id in run_ids}


def screened(session: Session, check_id: str) -> frozenset[str]:
    """The metrics of a check that were suspected, and are to be confirmed by fresh answers."""
    rows = session.execute(
        select(Evidence.metric, Evidence.effect).join(Run, Run.id == Evidence.run_id).where(Run.check_id == check_id)
    )
    return frozenset(metric for metric, effect in rows if effect["detail"].get(STAGE) == Stage.HIT)


def evidence_record(row: Evidence) -> EvidenceRecord:
    return EvidenceRecord(
        metric=row.metric,
        detector=row.detector,
        detector_version=row.detector_version,
        verdict=row.verdict,
        counted=row.counted,
        reason=row.reason,
        statistic=row.statistic,
        p=row.p,
        adjusted_p=row.adjusted_p,
        value=row.value,
        unit=row.unit,
        interval=_interval(row.ci_low, row.ci_high, row.ci_level),
        baseline=row.baseline,
        detectable=row.detectable,
        target=row.target,
        n=row.n,
        tokens=row.tokens,
        causes=tuple(Cause(**cause) for cause in row.effect["causes"]),
        detail=row.effect["detail"],
    )


def _interval(low: float | None, high: float | None, level: float | None) -> Interval | None:
    return None if low is None or high is None or level is None else Interval(low, high, level)
