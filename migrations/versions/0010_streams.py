"""What many rounds add up to: epochs, streams, their evidence and states, and looks at endpoints.

Revision ID: 0010
Revises: 0009
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIERS = ("T0", "T1", "T2", "T3", "T4", "T5", "T6")
TABLES = ("endpoint_look", "stream_evidence", "stream_state", "stream_epoch", "endpoint_epoch", "stream")


def upgrade() -> None:
    _create_stream()
    _create_endpoint_epoch()
    _create_stream_epoch()
    _create_stream_state()
    _create_stream_evidence()
    _create_endpoint_look()


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)


def _word(name: str, *words: str) -> sa.Enum:
    return sa.Enum(*words, name=name, native_enum=False, create_constraint=True, length=16)


def _foreign(table: str, column: str, parent: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{parent}.id"], name=op.f(f"fk_{table}_{column}_{parent}"))


def _time(name: str, *, nullable: bool = False) -> sa.Column[datetime]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _create_stream() -> None:
    op.create_table(
        "stream",
        sa.Column("id", BIG_KEY, nullable=False),
        sa.Column("endpoint_id", sa.String(40), nullable=False),
        sa.Column("tier", _word("tier", *TIERS), nullable=False),
        sa.Column("probe_set", sa.String(128), nullable=False),
        _time("created_at"),
        _foreign("stream", "endpoint_id", "endpoint"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stream")),
        sa.UniqueConstraint("endpoint_id", "tier", "probe_set", name=op.f("uq_stream_endpoint_id_tier_probe_set")),
    )


def _create_endpoint_epoch() -> None:
    why = _word("why", "expired", "our_stack", "accepted", "replanned")
    op.create_table(
        "endpoint_epoch",
        sa.Column("id", BIG_KEY, nullable=False),
        sa.Column("endpoint_id", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("stack", sa.String(128), nullable=False),
        sa.Column("escalation", sa.JSON(), nullable=False),
        _time("opened_at"),
        _time("closed_at", nullable=True),
        sa.Column("why", why, nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("closed_by", sa.String(128), nullable=True),
        _foreign("endpoint_epoch", "endpoint_id", "endpoint"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoint_epoch")),
        sa.UniqueConstraint("endpoint_id", "number", name=op.f("uq_endpoint_epoch_endpoint_id_number")),
    )
    is_open = sa.text("closed_at IS NULL")
    op.create_index(
        "uq_endpoint_epoch_open",
        "endpoint_epoch",
        ["endpoint_id"],
        unique=True,
        sqlite_where=is_open,
        postgresql_where=is_open,
    )


def _create_stream_epoch() -> None:
    op.create_table(
        "stream_epoch",
        sa.Column("id", BIG_KEY, nullable=False),
        sa.Column("stream_id", BIG_KEY, nullable=False),
        sa.Column("epoch_id", BIG_KEY, nullable=False),
        sa.Column("escalation", sa.Integer(), nullable=False),
        sa.Column("begun", _word("begun", "new", "renewed", "rebased"), nullable=False),
        sa.Column("rule", sa.JSON(), nullable=False),
        sa.Column("baseline", sa.LargeBinary(), nullable=True),
        _time("opened_at"),
        _time("closed_at", nullable=True),
        _foreign("stream_epoch", "stream_id", "stream"),
        _foreign("stream_epoch", "epoch_id", "endpoint_epoch"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stream_epoch")),
        sa.UniqueConstraint(
            "stream_id", "epoch_id", "escalation", name=op.f("uq_stream_epoch_stream_id_epoch_id_escalation")
        ),
    )
    op.create_index(op.f("ix_stream_epoch_epoch_id"), "stream_epoch", ["epoch_id"])


def _create_stream_state() -> None:
    op.create_table(
        "stream_state",
        sa.Column("stream_epoch_id", BIG_KEY, autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        _foreign("stream_state", "stream_epoch_id", "stream_epoch"),
        sa.PrimaryKeyConstraint("stream_epoch_id", name=op.f("pk_stream_state")),
    )


def _create_stream_evidence() -> None:
    op.create_table(
        "stream_evidence",
        sa.Column("id", BIG_KEY, nullable=False),
        sa.Column("endpoint_id", sa.String(40), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("stream_id", BIG_KEY, nullable=False),
        sa.Column("stream_epoch_id", BIG_KEY, nullable=False),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("says", sa.JSON(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        _time("added_at"),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("state_sha256", sa.String(64), nullable=False),
        _foreign("stream_evidence", "endpoint_id", "endpoint"),
        _foreign("stream_evidence", "stream_id", "stream"),
        _foreign("stream_evidence", "stream_epoch_id", "stream_epoch"),
        _foreign("stream_evidence", "run_id", "run"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stream_evidence")),
        sa.UniqueConstraint("endpoint_id", "sequence", name=op.f("uq_stream_evidence_endpoint_id_sequence")),
        sa.UniqueConstraint("run_id", "stream_id", name=op.f("uq_stream_evidence_run_id_stream_id")),
    )
    op.create_index(
        op.f("ix_stream_evidence_stream_epoch_id_sequence"), "stream_evidence", ["stream_epoch_id", "sequence"]
    )


def _create_endpoint_look() -> None:
    op.create_table(
        "endpoint_look",
        sa.Column("id", BIG_KEY, nullable=False),
        sa.Column("epoch_id", BIG_KEY, nullable=False),
        sa.Column("run_id", sa.String(40), nullable=True),
        sa.Column("kind", _word("kind", "looked", "closed"), nullable=False),
        _time("at"),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("our_side", sa.Text(), nullable=True),
        sa.Column("level", _word("level", "quiet", "shown", "suspect", "drift"), nullable=False),
        sa.Column("worth", sa.Double(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("proven", sa.Double(), nullable=False),
        sa.Column("escalated", sa.Double(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        _foreign("endpoint_look", "epoch_id", "endpoint_epoch"),
        _foreign("endpoint_look", "run_id", "run"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoint_look")),
    )
    op.create_index(op.f("ix_endpoint_look_epoch_id_id"), "endpoint_look", ["epoch_id", "id"])
    op.create_index(op.f("ix_endpoint_look_run_id"), "endpoint_look", ["run_id"])
