"""An epoch may end because what came since a drift has settled.

Revision ID: 0014
Revises: 0013
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

REASONS = ("expired", "our_stack", "accepted", "replanned")
NEW = "settled"
OPEN = sa.text("closed_at IS NULL")


def upgrade() -> None:
    _allow(*REASONS, NEW)


def downgrade() -> None:
    # The nearest word that an earlier program has.
    op.execute(f"UPDATE endpoint_epoch SET why = 'accepted' WHERE why = '{NEW}'")  # noqa: S608
    _allow(*REASONS)


def _allow(*reasons: str) -> None:
    name = op.f("ck_endpoint_epoch_why")
    op.drop_index("uq_endpoint_epoch_open", "endpoint_epoch")
    with op.batch_alter_table("endpoint_epoch") as batch:
        batch.drop_constraint(name, type_="check")
        batch.create_check_constraint(name, sa.column("why").in_(reasons))
    op.create_index(
        "uq_endpoint_epoch_open",
        "endpoint_epoch",
        ["endpoint_id"],
        unique=True,
        sqlite_where=OPEN,
        postgresql_where=OPEN,
    )
