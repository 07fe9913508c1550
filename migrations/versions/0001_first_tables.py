"""The first tables: catalog, ledger, findings.

Revision ID: 0001
Revises:
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
PROBES = ("logprobs", "border", "sampling", "accounting", "tool_calls", "evals", "latency", "protocol")

# Children before their parents, for the way down.
TABLES = (
    "sample_body",
    "sample",
    "observation",
    "metric_point",
    "evidence",
    "baseline_run",
    "run",
    "change_event",
    "baseline",
    "endpoint",
    "reference",
    "provider",
    "model",
)


def upgrade() -> None:
    _create_model()
    _create_provider()
    _create_reference()
    _create_endpoint()
    _create_baseline()
    _create_change_event()
    _create_run()
    _create_baseline_run()
    _create_evidence()
    _create_metric_point()
    _create_observation()
    _create_sample()
    _create_sample_body()


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)


def _word(name: str, *words: str) -> sa.Enum:
    return sa.Enum(*words, name=name, native_enum=False, create_constraint=True, length=16)


def _id(name: str = "id", *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(40), nullable=nullable)


def _foreign(table: str, column: str, parent: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{parent}.id"], name=op.f(f"fk_{table}_{column}_{parent}"))


def _create_model() -> None:
    op.create_table(
        "model",
        _id(),
        sa.Column("slug", sa.String(128), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model")),
        sa.UniqueConstraint("slug", name=op.f("uq_model_slug")),
    )


def _create_provider() -> None:
    op.create_table(
        "provider",
        _id(),
        sa.Column("slug", sa.String(128), nullable=False),
        sa.Column("base_url", sa.String(2048), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_provider")),
        sa.UniqueConstraint("slug", name=op.f("uq_provider_slug")),
    )


def _create_reference() -> None:
    op.create_table(
        "reference",
        _id(),
        _id("model_id"),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("fingerprint", sa.String(256), nullable=False),
        sa.Column("engine", sa.String(64), nullable=False),
        sa.Column("engine_version", sa.String(64), nullable=False),
        sa.Column("profiles", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        _foreign("reference", "model_id", "model"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reference")),
        sa.UniqueConstraint("model_id", "digest", name=op.f("uq_reference_model_id_digest")),
    )


def _create_endpoint() -> None:
    op.create_table(
        "endpoint",
        _id(),
        _id("provider_id"),
        _id("model_id"),
        sa.Column("served_name", sa.String(512), nullable=False),
        sa.Column("routing", sa.JSON(), nullable=False),
        sa.Column("routing_hash", sa.String(64), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("capabilities", sa.JSON(), nullable=False),
        _id("reference_id", nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        _foreign("endpoint", "provider_id", "provider"),
        _foreign("endpoint", "model_id", "model"),
        _foreign("endpoint", "reference_id", "reference"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoint")),
        sa.UniqueConstraint(
            "provider_id",
            "model_id",
            "served_name",
            "routing_hash",
            name=op.f("uq_endpoint_provider_id_model_id_served_name_routing_hash"),
        ),
    )


def _create_baseline() -> None:
    op.create_table(
        "baseline",
        _id(),
        _id("endpoint_id"),
        sa.Column("probe", _word("probe", *PROBES), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("status", _word("status", "active", "closed"), nullable=False),
        sa.Column("set_by", sa.String(128), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("closed_at", TIME, nullable=True),
        _foreign("baseline", "endpoint_id", "endpoint"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_baseline")),
        sa.UniqueConstraint("endpoint_id", "probe", "version", name=op.f("uq_baseline_endpoint_id_probe_version")),
    )
    active = sa.text("status = 'active'")
    op.create_index(
        "uq_baseline_active",
        "baseline",
        ["endpoint_id", "probe"],
        unique=True,
        sqlite_where=active,
        postgresql_where=active,
    )


def _create_change_event() -> None:
    kinds = ("fingerprint", "config", "baseline", "provider_notice", "engine", "reference")
    op.create_table(
        "change_event",
        sa.Column("id", BIG_KEY, nullable=False),
        _id("endpoint_id", nullable=True),
        sa.Column("kind", _word("kind", *kinds), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        _foreign("change_event", "endpoint_id", "endpoint"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_change_event")),
    )
    op.create_index(op.f("ix_change_event_endpoint_id_at"), "change_event", ["endpoint_id", "at"])


def _create_run() -> None:
    triggers = ("schedule", "cli", "api", "ci", "confirm")
    statuses = ("queued", "leased", "running", "succeeded", "partial", "failed", "expired", "cancelled")
    op.create_table(
        "run",
        _id(),
        _id("check_id"),
        _id("endpoint_id"),
        _id("reference_id", nullable=True),
        sa.Column("probe", _word("probe", *PROBES), nullable=False),
        sa.Column("trigger", _word("trigger", *triggers), nullable=False),
        sa.Column("status", _word("status", *statuses), nullable=False),
        sa.Column("idempotency_key", sa.String(160), nullable=False),
        sa.Column("owner", sa.String(320), nullable=False),
        sa.Column("suite_sha256", sa.String(64), nullable=False),
        sa.Column("suite_version", sa.String(128), nullable=False),
        sa.Column("config_digest", sa.String(64), nullable=False),
        sa.Column("code_version", sa.String(128), nullable=False),
        sa.Column("planned", sa.Integer(), nullable=False),
        sa.Column("n_ok", sa.Integer(), nullable=False),
        sa.Column("n_bad", sa.Integer(), nullable=False),
        sa.Column("n_err", sa.Integer(), nullable=False),
        sa.Column("tokens_in", sa.BigInteger(), nullable=False),
        sa.Column("tokens_out", sa.BigInteger(), nullable=False),
        sa.Column("cost_microusd", sa.BigInteger(), nullable=True),
        sa.Column("served_fingerprint", sa.String(256), nullable=True),
        sa.Column("error_code", sa.String(64), nullable=True),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        _foreign("run", "endpoint_id", "endpoint"),
        _foreign("run", "reference_id", "reference"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_run_idempotency_key")),
    )
    op.create_index(op.f("ix_run_endpoint_id_started_at"), "run", ["endpoint_id", "started_at"])
    op.create_index(op.f("ix_run_check_id"), "run", ["check_id"])
    is_running = sa.text("status = 'running'")
    op.create_index("ix_run_running", "run", ["started_at"], sqlite_where=is_running, postgresql_where=is_running)


def _create_baseline_run() -> None:
    op.create_table(
        "baseline_run",
        _id("baseline_id"),
        _id("run_id"),
        sa.Column("role", _word("role", "enrolment", "accepted"), nullable=False),
        sa.Column("added_at", TIME, nullable=False),
        _foreign("baseline_run", "baseline_id", "baseline"),
        _foreign("baseline_run", "run_id", "run"),
        sa.PrimaryKeyConstraint("baseline_id", "run_id", name=op.f("pk_baseline_run")),
    )
    op.create_index(op.f("ix_baseline_run_run_id"), "baseline_run", ["run_id"])


def _create_evidence() -> None:
    verdicts = ("ok", "suspect", "drift", "inconclusive", "inapplicable")
    op.create_table(
        "evidence",
        sa.Column("id", BIG_KEY, nullable=False),
        _id("run_id"),
        _id("endpoint_id"),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("metric", sa.String(64), nullable=False),
        sa.Column("detector", sa.String(64), nullable=False),
        sa.Column("detector_version", sa.String(32), nullable=False),
        sa.Column("verdict", _word("verdict", *verdicts), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("statistic", sa.Double(), nullable=True),
        sa.Column("p", sa.Double(), nullable=True),
        sa.Column("adjusted_p", sa.Double(), nullable=True),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("unit", sa.String(32), nullable=True),
        sa.Column("ci_low", sa.Double(), nullable=True),
        sa.Column("ci_high", sa.Double(), nullable=True),
        sa.Column("ci_level", sa.Double(), nullable=True),
        sa.Column("baseline", sa.Double(), nullable=True),
        sa.Column("detectable", sa.Double(), nullable=True),
        sa.Column("target", sa.Double(), nullable=True),
        sa.Column("n", sa.Integer(), nullable=True),
        sa.Column("tokens", sa.Integer(), nullable=True),
        sa.Column("effect", sa.JSON(), nullable=False),
        _foreign("evidence", "run_id", "run"),
        _foreign("evidence", "endpoint_id", "endpoint"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
    )
    op.create_index(op.f("ix_evidence_endpoint_id_created_at"), "evidence", ["endpoint_id", "created_at"])
    op.create_index(op.f("ix_evidence_run_id"), "evidence", ["run_id"])


def _create_metric_point() -> None:
    op.create_table(
        "metric_point",
        sa.Column("id", BIG_KEY, nullable=False),
        _id("endpoint_id"),
        _id("run_id"),
        sa.Column("metric", sa.String(64), nullable=False),
        sa.Column("ts", TIME, nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("ci_low", sa.Double(), nullable=True),
        sa.Column("ci_high", sa.Double(), nullable=True),
        sa.Column("ci_level", sa.Double(), nullable=True),
        _foreign("metric_point", "endpoint_id", "endpoint"),
        _foreign("metric_point", "run_id", "run"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_point")),
    )
    op.create_index(op.f("ix_metric_point_endpoint_id_metric_ts"), "metric_point", ["endpoint_id", "metric", "ts"])
    op.create_index(op.f("ix_metric_point_run_id"), "metric_point", ["run_id"])


def _create_observation() -> None:
    op.create_table(
        "observation",
        sa.Column("id", BIG_KEY, nullable=False),
        _id("run_id"),
        sa.Column("item_key", sa.String(256), nullable=False),
        sa.Column("rep", sa.Integer(), nullable=False),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        _foreign("observation", "run_id", "run"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_observation")),
        sa.UniqueConstraint("run_id", "item_key", "rep", name=op.f("uq_observation_run_id_item_key_rep")),
    )


def _create_sample() -> None:
    outcomes = ("ok", "wrong", "invalid", "refused", "http_error", "timeout", "rate_limited", "skipped")
    op.create_table(
        "sample",
        sa.Column("id", BIG_KEY, nullable=False),
        _id("run_id"),
        _id("endpoint_id"),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("sent_at", TIME, nullable=True),
        sa.Column("item_key", sa.String(256), nullable=False),
        sa.Column("rep", sa.Integer(), nullable=False),
        sa.Column("anchor", sa.Boolean(), nullable=False),
        sa.Column("outcome", _word("outcome", *outcomes), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("first_attempt_ok", sa.Boolean(), nullable=False),
        sa.Column("error_code", sa.String(64), nullable=True),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("finish_reason", sa.String(64), nullable=True),
        sa.Column("quirks", sa.JSON(), nullable=False),
        sa.Column("ttft_ms", sa.Double(), nullable=True),
        sa.Column("total_ms", sa.Double(), nullable=True),
        sa.Column("tokens_in", sa.Integer(), nullable=True),
        sa.Column("tokens_out", sa.Integer(), nullable=True),
        sa.Column("tokens_cached", sa.Integer(), nullable=True),
        sa.Column("provider_request_id", sa.String(256), nullable=True),
        sa.Column("response_sha256", sa.String(64), nullable=True),
        _foreign("sample", "run_id", "run"),
        _foreign("sample", "endpoint_id", "endpoint"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sample")),
        sa.UniqueConstraint("run_id", "item_key", "rep", name=op.f("uq_sample_run_id_item_key_rep")),
    )
    op.create_index(op.f("ix_sample_endpoint_id_created_at"), "sample", ["endpoint_id", "created_at"])


def _create_sample_body() -> None:
    op.create_table(
        "sample_body",
        sa.Column("sample_id", BIG_KEY, autoincrement=False, nullable=False),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["sample_id"], ["sample.id"], name=op.f("fk_sample_body_sample_id_sample"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("sample_id", name=op.f("pk_sample_body")),
    )
    op.create_index(op.f("ix_sample_body_expires_at"), "sample_body", ["expires_at"])
