"""A suspicion of the streams may ask for a check.

Revision ID: 0016
Revises: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

TABLES = ("run", "endpoint_check")
TRIGGERS = ("schedule", "cli", "api", "ci", "confirm")
NEW = "escalate"


def upgrade() -> None:
    _allow(*TRIGGERS, NEW)


def downgrade() -> None:
    # The nearest word that an earlier program has.
    for table in TABLES:
        op.execute(f"UPDATE {table} SET trigger = 'confirm' WHERE trigger = '{NEW}'")  # noqa: S608
    _allow(*TRIGGERS)


def _allow(*triggers: str) -> None:
    for table in TABLES:
        name = op.f(f"ck_{table}_trigger")
        with op.batch_alter_table(table) as batch:
            batch.drop_constraint(name, type_="check")
            batch.create_check_constraint(name, sa.column("trigger").in_(triggers))
