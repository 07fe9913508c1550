"""What was asked and what came back: runs, their samples with raw bodies, and the observations kept for good."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from monitor.store.columns import BIG_KEY, word
from monitor.store.tables.metadata import Table
from monitor.store.vocabulary import RunStatus, Trigger
from probes.plan import Outcome, ProbeKind


class Run(Table):
    """One probe sent to one endpoint. `owner` names the process at work, `check_id` the command it belongs to."""

    __tablename__ = "run"
    __table_args__ = (
        Index(None, "endpoint_id", "started_at"),
        Index(None, "check_id"),
        Index(
            "ix_run_running",
            "started_at",
            sqlite_where=text("status = 'running'"),
            postgresql_where=text("status = 'running'"),
        ),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    check_id: Mapped[str] = mapped_column(String(40))
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"))
    reference_id: Mapped[str | None] = mapped_column(ForeignKey("reference.id"))
    probe: Mapped[ProbeKind] = mapped_column(word(ProbeKind, "probe"))
    trigger: Mapped[Trigger] = mapped_column(word(Trigger, "trigger"))
    status: Mapped[RunStatus] = mapped_column(word(RunStatus, "status"))
    idempotency_key: Mapped[str] = mapped_column(String(160), unique=True)
    owner: Mapped[str] = mapped_column(String(320))
    suite_sha256: Mapped[str] = mapped_column(String(64))
    suite_version: Mapped[str] = mapped_column(String(128))
    config_digest: Mapped[str] = mapped_column(String(64))
    code_version: Mapped[str] = mapped_column(String(128))
    planned: Mapped[int]
    n_ok: Mapped[int]
    n_bad: Mapped[int]
    n_err: Mapped[int]
    tokens_in: Mapped[int | None] = mapped_column(BigInteger)
    tokens_out: Mapped[int | None] = mapped_column(BigInteger)
    n_without_usage: Mapped[int | None]
    cost_microusd: Mapped[int | None] = mapped_column(BigInteger)
    served_fingerprint: Mapped[str | None] = mapped_column(String(256))
    error_code: Mapped[str | None] = mapped_column(String(64))
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class Sample(Table):
    """One request and the facts of its answer; `response_sha256` is over the last attempt's raw body."""

    __tablename__ = "sample"
    __table_args__ = (UniqueConstraint("run_id", "item_key", "rep"), Index(None, "endpoint_id", "created_at"))

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("run.id"))
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"))
    created_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]
    item_key: Mapped[str] = mapped_column(String(256))
    rep: Mapped[int]
    anchor: Mapped[bool]
    outcome: Mapped[Outcome] = mapped_column(word(Outcome, "outcome"))
    attempts: Mapped[int]
    first_attempt_ok: Mapped[bool]
    error_code: Mapped[str | None] = mapped_column(String(64))
    http_status: Mapped[int | None]
    finish_reason: Mapped[str | None] = mapped_column(String(64))
    quirks: Mapped[list[str]]
    ttft_ms: Mapped[float | None]
    total_ms: Mapped[float | None]
    tokens_in: Mapped[int | None]
    tokens_out: Mapped[int | None]
    tokens_cached: Mapped[int | None]
    provider_request_id: Mapped[str | None] = mapped_column(String(256))
    response_sha256: Mapped[str | None] = mapped_column(String(64))


class SampleBody(Table):
    """The exchange as it went over the wire, redacted and compressed; kept as long as the configuration says.

    `expires_at` is what earlier programs went by.
    """

    __tablename__ = "sample_body"
    __table_args__ = (Index(None, "expires_at"),)

    sample_id: Mapped[int] = mapped_column(
        BIG_KEY, ForeignKey("sample.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    blob: Mapped[bytes] = mapped_column(LargeBinary)
    expires_at: Mapped[datetime]


class Observation(Table):
    """One observation as monitor/store/codec.py writes it. It outlives its sample, so that verdicts can be replayed."""

    __tablename__ = "observation"
    __table_args__ = (UniqueConstraint("run_id", "item_key", "rep"),)

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("run.id"))
    item_key: Mapped[str] = mapped_column(String(256))
    rep: Mapped[int]
    blob: Mapped[bytes] = mapped_column(LargeBinary)
