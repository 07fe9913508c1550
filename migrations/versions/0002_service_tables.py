"""The service: queue, alerts, deliveries, access, configuration, rollups.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
ALERT_STATES = ("pending", "firing", "recovering", "no_data", "error", "resolved")

# Children before their parents, for the way down.
TABLES = (
    "reservation",
    "alert_event",
    "service_event",
    "metric_rollup",
    "endpoint_check",
    "alert",
    "user_session",
    "delivery_attempt",
    "worker_beat",
    "user_account",
    "token_bucket",
    "spending",
    "silence",
    "setting",
    "notify_group",
    "idempotency",
    "delivery",
    "config_object",
    "channel_health",
    "audit_log",
    "api_token",
)


def _word(name: str, *words: str) -> sa.Enum:
    return sa.Enum(*words, name=name, native_enum=False, create_constraint=True, length=16)


def _id(name: str = "id", *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(40), nullable=nullable)


def upgrade() -> None:
    _create_api_token()
    _create_audit_log()
    _create_channel_health()
    _create_config_object()
    _create_delivery()
    _create_idempotency()
    _create_notify_group()
    _create_setting()
    _create_silence()
    _create_spending()
    _create_token_bucket()
    _create_user_account()
    _create_worker_beat()
    _create_delivery_attempt()
    _create_user_session()
    _create_alert()
    _create_endpoint_check()
    _create_metric_rollup()
    _create_service_event()
    _create_alert_event()
    _create_reservation()
    _enter_earlier_checks()
    _roll_up_earlier_points()


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)


def _create_api_token() -> None:
    op.create_table(
        "api_token",
        _id("id"),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("secret_sha256", sa.String(64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(128), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=True),
        sa.Column("revoked_at", TIME, nullable=True),
        sa.Column("used_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
    )


def _create_audit_log() -> None:
    op.create_table(
        "audit_log",
        sa.Column("id", BIG_KEY, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("actor", sa.String(128), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("object", sa.String(320), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
    )
    op.create_index(op.f("ix_audit_log_at"), "audit_log", ["at"])


def _create_channel_health() -> None:
    op.create_table(
        "channel_health",
        sa.Column("channel", sa.String(128), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("throttled_until", TIME, nullable=True),
        sa.Column("disabled_at", TIME, nullable=True),
        sa.Column("reason", sa.String(512), nullable=True),
        sa.Column("ok_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("channel", name=op.f("pk_channel_health")),
    )


def _create_config_object() -> None:
    op.create_table(
        "config_object",
        sa.Column(
            "kind",
            _word(
                "kind",
                "defaults",
                "model",
                "provider",
                "schedule",
                "rule",
                "channel",
                "route",
                "maintenance",
                "retention",
            ),
            nullable=False,
        ),
        sa.Column("slug", sa.String(128), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("managed_by", _word("managed_by", "file", "api"), nullable=False),
        sa.Column("source", sa.String(2048), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("kind", "slug", name=op.f("pk_config_object")),
    )


def _create_delivery() -> None:
    op.create_table(
        "delivery",
        _id("id"),
        sa.Column("channel", sa.String(128), nullable=False),
        sa.Column("type", sa.String(64), nullable=False),
        sa.Column("group_key", sa.String(512), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("alert_ids", sa.JSON(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("content_type", sa.String(128), nullable=False),
        sa.Column("status", _word("status", "pending", "leased", "delivered", "failed", "cancelled"), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", TIME, nullable=False),
        sa.Column("lease_owner", sa.String(320), nullable=True),
        sa.Column("lease_until", TIME, nullable=True),
        sa.Column("error", sa.String(512), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint("channel", "group_key", "seq", name=op.f("uq_delivery_channel_group_key_seq")),
    )
    op.create_index(op.f("ix_delivery_channel_created_at"), "delivery", ["channel", "created_at"])
    op.create_index(
        "ix_delivery_open",
        "delivery",
        ["next_attempt_at"],
        sqlite_where=sa.text("status in ('pending', 'leased')"),
        postgresql_where=sa.text("status in ('pending', 'leased')"),
    )


def _create_idempotency() -> None:
    op.create_table(
        "idempotency",
        sa.Column("key", sa.String(256), nullable=False),
        sa.Column("actor", sa.String(128), nullable=False),
        sa.Column("route", sa.String(256), nullable=False),
        sa.Column("request_sha256", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", sa.JSON(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("expires_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("key", "actor", "route", name=op.f("pk_idempotency")),
    )
    op.create_index(op.f("ix_idempotency_expires_at"), "idempotency", ["expires_at"])


def _create_notify_group() -> None:
    op.create_table(
        "notify_group",
        sa.Column("channel", sa.String(128), nullable=False),
        sa.Column("route", sa.String(128), nullable=False),
        sa.Column("group_key", sa.String(512), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("members", sa.JSON(), nullable=False),
        sa.Column("told_firing", sa.JSON(), nullable=False),
        sa.Column("told_resolved", sa.JSON(), nullable=False),
        sa.Column("told_at", TIME, nullable=True),
        sa.Column("opened_at", TIME, nullable=False),
        sa.Column("due_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("channel", "route", "group_key", name=op.f("pk_notify_group")),
    )
    op.create_index(
        "ix_notify_group_due",
        "notify_group",
        ["due_at"],
        sqlite_where=sa.text("due_at is not null"),
        postgresql_where=sa.text("due_at is not null"),
    )


def _create_setting() -> None:
    op.create_table(
        "setting",
        sa.Column("key", sa.String(128), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_setting")),
    )


def _create_silence() -> None:
    op.create_table(
        "silence",
        _id("id"),
        sa.Column("matchers", sa.JSON(), nullable=False),
        sa.Column("starts_at", TIME, nullable=False),
        sa.Column("ends_at", TIME, nullable=False),
        sa.Column("author", sa.String(128), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_silence")),
    )
    op.create_index(op.f("ix_silence_ends_at"), "silence", ["ends_at"])


def _create_spending() -> None:
    op.create_table(
        "spending",
        sa.Column("provider", sa.String(128), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("settled_microusd", sa.BigInteger(), nullable=False),
        sa.Column("reserved_microusd", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("provider", "day", name=op.f("pk_spending")),
    )


def _create_token_bucket() -> None:
    op.create_table(
        "token_bucket",
        sa.Column("name", sa.String(160), nullable=False),
        sa.Column("tokens", sa.Double(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_token_bucket")),
    )


def _create_user_account() -> None:
    op.create_table(
        "user_account",
        _id("id"),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("role", _word("role", "viewer", "operator", "admin"), nullable=False),
        sa.Column("password_hash", sa.String(256), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("disabled_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_account")),
        sa.UniqueConstraint("name", name=op.f("uq_user_account_name")),
    )


def _create_worker_beat() -> None:
    op.create_table(
        "worker_beat",
        sa.Column("name", sa.String(320), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("queues", sa.JSON(), nullable=False),
        sa.Column("version", sa.String(128), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("seen_at", TIME, nullable=False),
        sa.Column("progress_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_worker_beat")),
    )


def _create_delivery_attempt() -> None:
    op.create_table(
        "delivery_attempt",
        sa.Column("id", BIG_KEY, nullable=False),
        _id("delivery_id"),
        sa.Column("at", TIME, nullable=False),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("error", sa.String(512), nullable=True),
        sa.Column("milliseconds", sa.Double(), nullable=False),
        sa.Column("response", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["delivery_id"], ["delivery.id"], name=op.f("fk_delivery_attempt_delivery_id_delivery"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery_attempt")),
    )
    op.create_index(op.f("ix_delivery_attempt_delivery_id"), "delivery_attempt", ["delivery_id"])


def _create_user_session() -> None:
    op.create_table(
        "user_session",
        sa.Column("id_sha256", sa.String(64), nullable=False),
        _id("user_id"),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_user_session_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id_sha256", name=op.f("pk_user_session")),
    )
    op.create_index(op.f("ix_user_session_expires_at"), "user_session", ["expires_at"])


def _create_alert() -> None:
    op.create_table(
        "alert",
        _id("id"),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("rule", sa.String(128), nullable=False),
        _id("endpoint_id", nullable=True),
        sa.Column("metric", sa.String(64), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("severity", _word("severity", "info", "warning", "critical"), nullable=False),
        sa.Column("state", _word("state", *ALERT_STATES), nullable=False),
        sa.Column("flapping", sa.Boolean(), nullable=False),
        sa.Column("acked_at", TIME, nullable=True),
        sa.Column("acked_by", sa.String(128), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("core", sa.JSON(), nullable=False),
        sa.Column("finding", sa.JSON(), nullable=False),
        sa.Column("opened_at", TIME, nullable=False),
        sa.Column("fired_at", TIME, nullable=True),
        sa.Column("resolved_at", TIME, nullable=True),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["endpoint_id"], ["endpoint.id"], name=op.f("fk_alert_endpoint_id_endpoint")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert")),
    )
    op.create_index(op.f("ix_alert_endpoint_id_opened_at"), "alert", ["endpoint_id", "opened_at"])
    op.create_index(op.f("ix_alert_state_opened_at"), "alert", ["state", "opened_at"])
    op.create_index(
        "uq_alert_open",
        "alert",
        ["fingerprint"],
        unique=True,
        sqlite_where=sa.text("state <> 'resolved'"),
        postgresql_where=sa.text("state <> 'resolved'"),
    )


def _create_endpoint_check() -> None:
    op.create_table(
        "endpoint_check",
        _id("id"),
        sa.Column("idempotency_key", sa.String(320), nullable=False),
        _id("endpoint_id"),
        sa.Column("trigger", _word("trigger", "schedule", "cli", "api", "ci", "confirm"), nullable=False),
        sa.Column("schedule", sa.String(128), nullable=True),
        _id("confirms", nullable=True),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("nonce", sa.String(64), nullable=False),
        sa.Column(
            "status",
            _word("status", "queued", "leased", "running", "succeeded", "partial", "failed", "expired", "cancelled"),
            nullable=False,
        ),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(320), nullable=True),
        sa.Column("lease_until", TIME, nullable=True),
        sa.Column("rung_at", TIME, nullable=True),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("planned", sa.Integer(), nullable=False),
        sa.Column("verdict", _word("verdict", "ok", "suspect", "drift", "inconclusive", "inapplicable"), nullable=True),
        sa.Column("enrolled", sa.Boolean(), nullable=False),
        sa.Column("error_code", sa.String(64), nullable=True),
        sa.Column("error", sa.String(2048), nullable=True),
        sa.Column("slot_at", TIME, nullable=False),
        sa.Column("deadline", TIME, nullable=True),
        sa.Column("queued_at", TIME, nullable=False),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("finished_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["confirms"], ["endpoint_check.id"], name=op.f("fk_endpoint_check_confirms_endpoint_check")
        ),
        sa.ForeignKeyConstraint(["endpoint_id"], ["endpoint.id"], name=op.f("fk_endpoint_check_endpoint_id_endpoint")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoint_check")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_endpoint_check_idempotency_key")),
    )
    op.create_index(op.f("ix_endpoint_check_endpoint_id_queued_at"), "endpoint_check", ["endpoint_id", "queued_at"])
    op.create_index(
        "ix_endpoint_check_open",
        "endpoint_check",
        ["queued_at"],
        sqlite_where=sa.text("status in ('queued', 'leased', 'running')"),
        postgresql_where=sa.text("status in ('queued', 'leased', 'running')"),
    )
    op.create_index(
        op.f("ix_endpoint_check_schedule_endpoint_id_slot_at"),
        "endpoint_check",
        ["schedule", "endpoint_id", "slot_at"],
    )


def _create_metric_rollup() -> None:
    op.create_table(
        "metric_rollup",
        _id("endpoint_id"),
        sa.Column("metric", sa.String(64), nullable=False),
        sa.Column("bucket", _word("bucket", "hour", "day"), nullable=False),
        sa.Column("start", TIME, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("total", sa.Double(), nullable=False),
        sa.Column("total_squares", sa.Double(), nullable=False),
        sa.Column("least", sa.Double(), nullable=False),
        sa.Column("most", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["endpoint_id"], ["endpoint.id"], name=op.f("fk_metric_rollup_endpoint_id_endpoint")),
        sa.PrimaryKeyConstraint("endpoint_id", "metric", "bucket", "start", name=op.f("pk_metric_rollup")),
    )


def _create_service_event() -> None:
    op.create_table(
        "service_event",
        sa.Column("id", BIG_KEY, nullable=False),
        sa.Column("type", sa.String(64), nullable=False),
        sa.Column("dedupe_key", sa.String(256), nullable=False),
        _id("endpoint_id", nullable=True),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("fanned_out_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["endpoint_id"], ["endpoint.id"], name=op.f("fk_service_event_endpoint_id_endpoint")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_event")),
        sa.UniqueConstraint("dedupe_key", name=op.f("uq_service_event_dedupe_key")),
    )
    op.create_index(
        "ix_service_event_outbox",
        "service_event",
        ["id"],
        sqlite_where=sa.text("fanned_out_at is null"),
        postgresql_where=sa.text("fanned_out_at is null"),
    )


def _create_alert_event() -> None:
    op.create_table(
        "alert_event",
        sa.Column("id", BIG_KEY, nullable=False),
        _id("alert_id"),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("from_state", _word("from_state", *ALERT_STATES), nullable=True),
        sa.Column("to_state", _word("to_state", *ALERT_STATES), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("actor", sa.String(128), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("snapshot", sa.JSON(), nullable=False),
        sa.Column("fanned_out_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["alert_id"], ["alert.id"], name=op.f("fk_alert_event_alert_id_alert")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_event")),
        sa.UniqueConstraint("alert_id", "seq", name=op.f("uq_alert_event_alert_id_seq")),
    )
    op.create_index(
        "ix_alert_event_outbox",
        "alert_event",
        ["id"],
        sqlite_where=sa.text("fanned_out_at is null"),
        postgresql_where=sa.text("fanned_out_at is null"),
    )


def _create_reservation() -> None:
    op.create_table(
        "reservation",
        _id("check_id"),
        sa.Column("provider", sa.String(128), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("microusd", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["check_id"], ["endpoint_check.id"], name=op.f("fk_reservation_check_id_endpoint_check")
        ),
        sa.PrimaryKeyConstraint("check_id", name=op.f("pk_reservation")),
    )


def _enter_earlier_checks() -> None:
    """Every check that a command made before there was a queue becomes an entry of it, ended as its first run ended."""
    op.execute(
        """
        INSERT INTO endpoint_check (id, idempotency_key, endpoint_id, trigger, options, nonce, status, attempt,
            lease_owner, done, planned, enrolled, error_code, slot_at, queued_at, started_at, finished_at)
        SELECT run.check_id, 'cli:' || run.check_id, run.endpoint_id, run.trigger, '{}', '', run.status, 1, run.owner,
            run.n_ok, run.planned, false, run.error_code, run.started_at, run.started_at, run.started_at,
            run.finished_at
        FROM run WHERE run.id = (SELECT MIN(first.id) FROM run AS first WHERE first.check_id = run.check_id)
        """
    )


def _roll_up_earlier_points() -> None:
    """The points of runs before there were rollups are added up as later ones are, by hour and by day in UTC."""
    on_server = op.get_context().dialect.name == "postgresql"
    for bucket, text_format in (("hour", "%Y-%m-%d %H:00:00.000000"), ("day", "%Y-%m-%d 00:00:00.000000")):
        start = f"date_trunc('{bucket}', ts, 'UTC')" if on_server else f"strftime('{text_format}', ts)"
        op.execute(
            sa.text(
                f"""
                INSERT INTO metric_rollup (endpoint_id, metric, bucket, start, n, points, total, total_squares, least,
                    most)
                SELECT endpoint_id, metric, '{bucket}', {start.replace(":", chr(92) + ":")}, SUM(n), COUNT(*),
                    SUM(value), SUM(value * value), MIN(value), MAX(value)
                FROM metric_point GROUP BY 1, 2, 4
                """  # noqa: S608 - made of the words above
            )
        )
