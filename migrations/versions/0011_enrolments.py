"""What log-probabilities were at enrolment: what rounds of a stream are scored against.

Revision ID: 0011
Revises: 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OPEN = sa.text("closed_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "enrolment",
        sa.Column("id", BIG_KEY, nullable=False),
        sa.Column("endpoint_id", sa.String(40), nullable=False),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("suite_version", sa.String(128), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["endpoint_id"], ["endpoint.id"], name=op.f("fk_enrolment_endpoint_id_endpoint")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_enrolment_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_enrolment")),
    )
    op.create_index(
        "uq_enrolment_open", "enrolment", ["endpoint_id"], unique=True, sqlite_where=OPEN, postgresql_where=OPEN
    )


def downgrade() -> None:
    op.drop_table("enrolment")
