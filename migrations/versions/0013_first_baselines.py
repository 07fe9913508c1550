"""An epoch names its enrolment, and keeps how far each new baseline is from the first one.

Revision ID: 0013
Revises: 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY = "fk_endpoint_epoch_enrolment_id_enrolment"
OPEN = sa.text("closed_at IS NULL")


def upgrade() -> None:
    op.drop_index("uq_endpoint_epoch_open", "endpoint_epoch")
    with op.batch_alter_table("endpoint_epoch") as batch:
        batch.add_column(sa.Column("enrolment_id", BIG_KEY, nullable=True))
        batch.create_foreign_key(op.f(KEY), "enrolment", ["enrolment_id"], ["id"])
    _index()
    with op.batch_alter_table("stream_epoch") as batch:
        batch.add_column(sa.Column("first_baseline", sa.LargeBinary(), nullable=True))
        batch.add_column(sa.Column("against_first", sa.Text(), nullable=True))
    op.execute(
        """
        UPDATE endpoint_epoch SET enrolment_id = (
            SELECT max(enrolment.id) FROM enrolment WHERE enrolment.endpoint_id = endpoint_epoch.endpoint_id
            AND enrolment.made_at <= endpoint_epoch.opened_at
            AND (enrolment.closed_at IS NULL OR enrolment.closed_at > endpoint_epoch.opened_at)
        )
        """
    )


def downgrade() -> None:
    with op.batch_alter_table("stream_epoch") as batch:
        batch.drop_column("first_baseline")
        batch.drop_column("against_first")
    op.drop_index("uq_endpoint_epoch_open", "endpoint_epoch")
    with op.batch_alter_table("endpoint_epoch") as batch:
        batch.drop_constraint(op.f(KEY), type_="foreignkey")
        batch.drop_column("enrolment_id")
    _index()


def _index() -> None:
    op.create_index(
        "uq_endpoint_epoch_open",
        "endpoint_epoch",
        ["endpoint_id"],
        unique=True,
        sqlite_where=OPEN,
        postgresql_where=OPEN,
    )
