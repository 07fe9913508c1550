"""What was concluded: baselines and their runs, evidence, points of the charts, and the log of changes."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from monitor.drift.rule import Verdict
from monitor.store.columns import BIG_KEY, word
from monitor.store.tables.metadata import Table
from monitor.store.vocabulary import BaselineRole, BaselineStatus, Bucket, ChangeKind
from probes.plan import ProbeKind


class Baseline(Table):
    """What "unchanged" means for one probe of one endpoint, and of private suites for each (`suite` is its name, empty
    for other probes); its runs are in `baseline_run`."""

    __tablename__ = "baseline"
    __table_args__ = (
        UniqueConstraint("endpoint_id", "probe", "suite", "version"),
        Index(
            "uq_baseline_active",
            "endpoint_id",
            "probe",
            "suite",
            unique=True,
            sqlite_where=text("status = 'active'"),
            postgresql_where=text("status = 'active'"),
        ),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"))
    probe: Mapped[ProbeKind] = mapped_column(word(ProbeKind, "probe"))
    suite: Mapped[str] = mapped_column(String(64), server_default="")
    version: Mapped[int]
    status: Mapped[BaselineStatus] = mapped_column(word(BaselineStatus, "status"))
    set_by: Mapped[str] = mapped_column(String(128))
    note: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]


class BaselineRun(Table):
    __tablename__ = "baseline_run"
    __table_args__ = (Index(None, "run_id"),)

    baseline_id: Mapped[str] = mapped_column(ForeignKey("baseline.id"), primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("run.id"), primary_key=True)
    role: Mapped[BaselineRole] = mapped_column(word(BaselineRole, "role"))
    added_at: Mapped[datetime]


class Evidence(Table):
    """One check of one run. `effect` holds what has no column: the ranked causes and the detector's own details."""

    __tablename__ = "evidence"
    __table_args__ = (Index(None, "endpoint_id", "created_at"), Index(None, "run_id"))

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("run.id"))
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"))
    created_at: Mapped[datetime]
    metric: Mapped[str] = mapped_column(String(64))
    detector: Mapped[str] = mapped_column(String(64))
    detector_version: Mapped[str] = mapped_column(String(32))
    verdict: Mapped[Verdict] = mapped_column(word(Verdict, "verdict"))
    reason: Mapped[str | None] = mapped_column(Text)
    counted: Mapped[bool]
    statistic: Mapped[float | None]
    p: Mapped[float | None]
    adjusted_p: Mapped[float | None]
    value: Mapped[float | None]
    unit: Mapped[str | None] = mapped_column(String(32))
    ci_low: Mapped[float | None]
    ci_high: Mapped[float | None]
    ci_level: Mapped[float | None]
    baseline: Mapped[float | None]
    detectable: Mapped[float | None]
    target: Mapped[float | None]
    n: Mapped[int | None]
    tokens: Mapped[int | None]
    effect: Mapped[dict[str, Any]]


class StandingEvidence(Table):
    """Where to find what stands of a metric, and of evals of one private suite (`suite` is empty for other probes):
    `evidence_id` has the verdict that stands (monitor/standing.py), `since` when the first one in a row came that says
    so, and `latest_id` is the last that was found, whatever it says. A row goes with the baseline it is held against.
    """

    __tablename__ = "standing_evidence"

    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"), primary_key=True)
    suite: Mapped[str] = mapped_column(String(64), primary_key=True)
    metric: Mapped[str] = mapped_column(String(64), primary_key=True)
    evidence_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("evidence.id"))
    latest_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("evidence.id"))
    since: Mapped[datetime]


class MetricPoint(Table):
    __tablename__ = "metric_point"
    __table_args__ = (Index(None, "endpoint_id", "metric", "ts"), Index(None, "run_id"))

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"))
    run_id: Mapped[str] = mapped_column(ForeignKey("run.id"))
    metric: Mapped[str] = mapped_column(String(64))
    ts: Mapped[datetime]
    value: Mapped[float]
    n: Mapped[int]
    ci_low: Mapped[float | None]
    ci_high: Mapped[float | None]
    ci_level: Mapped[float | None]


class MetricRollup(Table):
    """The points of one metric within an hour or a day, added up: `points` of them from `n` samples, with the sum of
    their values and of the squares: enough for a mean with its interval, and the extremes. `point_values` are the
    values themselves, packed (monitor/store/quantiles.py): None where a part of them was never kept."""

    __tablename__ = "metric_rollup"

    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"), primary_key=True)
    metric: Mapped[str] = mapped_column(String(64), primary_key=True)
    bucket: Mapped[Bucket] = mapped_column(word(Bucket, "bucket"), primary_key=True)
    start: Mapped[datetime] = mapped_column(primary_key=True)
    n: Mapped[int]
    points: Mapped[int]
    total: Mapped[float]
    total_squares: Mapped[float]
    least: Mapped[float]
    most: Mapped[float]
    point_values: Mapped[bytes | None] = mapped_column(LargeBinary)


class ChangeEvent(Table):
    __tablename__ = "change_event"
    __table_args__ = (Index(None, "endpoint_id", "at"),)

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    endpoint_id: Mapped[str | None] = mapped_column(ForeignKey("endpoint.id"))
    kind: Mapped[ChangeKind] = mapped_column(word(ChangeKind, "kind"))
    text: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime]
