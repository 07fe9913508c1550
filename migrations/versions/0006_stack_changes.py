"""A change of how a serving stack writes is a change event of its own.

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

KINDS = ("fingerprint", "config", "baseline", "provider_notice", "engine", "reference")
NEW = "stack"


def upgrade() -> None:
    _allow(*KINDS, NEW)


def downgrade() -> None:
    # The nearest word that an earlier program has.
    op.execute(f"UPDATE change_event SET kind = 'fingerprint' WHERE kind = '{NEW}'")  # noqa: S608
    _allow(*KINDS)


def _allow(*kinds: str) -> None:
    name = op.f("ck_change_event_kind")
    with op.batch_alter_table("change_event") as batch:
        batch.drop_constraint(name, type_="check")
        batch.create_check_constraint(name, sa.column("kind").in_(kinds))
