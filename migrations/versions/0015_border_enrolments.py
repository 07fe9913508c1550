"""Border inputs are enrolled too: an endpoint has an enrolment a tier.

Revision ID: 0015
Revises: 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

OPEN = sa.text("closed_at IS NULL")
INDEX = "uq_enrolment_open"
TIERS = ("T0", "T1", "T2", "T3", "T4", "T5", "T6")


def upgrade() -> None:
    op.drop_index(INDEX, "enrolment")
    with op.batch_alter_table("enrolment") as batch:
        batch.add_column(sa.Column("tier", sa.String(16), nullable=False, server_default="T1"))
        batch.create_check_constraint(op.f("ck_enrolment_tier"), sa.column("tier").in_(TIERS))
    with op.batch_alter_table("enrolment") as batch:
        batch.alter_column("tier", server_default=None)
    _index("endpoint_id", "tier")


def downgrade() -> None:
    op.drop_index(INDEX, "enrolment")
    op.execute("DELETE FROM enrolment WHERE tier <> 'T1'")
    with op.batch_alter_table("enrolment") as batch:
        batch.drop_constraint(op.f("ck_enrolment_tier"), type_="check")
        batch.drop_column("tier")
    _index("endpoint_id")


def _index(*columns: str) -> None:
    op.create_index(INDEX, "enrolment", [*columns], unique=True, sqlite_where=OPEN, postgresql_where=OPEN)
