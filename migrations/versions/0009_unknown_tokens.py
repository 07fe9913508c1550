"""What an endpoint does not tell of its tokens is not known, and not 0.

Revision ID: 0009
Revises: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

COUNTS = ("tokens_in", "tokens_out")


def upgrade() -> None:
    with op.batch_alter_table("run") as batch:
        for name in COUNTS:
            batch.alter_column(name, existing_type=sa.BigInteger(), nullable=True)
        batch.add_column(sa.Column("n_without_usage", sa.Integer(), nullable=True))
    # There is no prompt without tokens: an answered one that counts none is of an endpoint that gave no count.
    unknown = "tokens_in = 0 AND n_ok + n_bad > 0 OR finished_at IS NULL"
    op.execute(f"UPDATE run SET tokens_in = NULL, tokens_out = NULL WHERE {unknown}")  # noqa: S608


def downgrade() -> None:
    for name in COUNTS:
        op.execute(f"UPDATE run SET {name} = 0 WHERE {name} IS NULL")  # noqa: S608
    with op.batch_alter_table("run") as batch:
        batch.drop_column("n_without_usage")
        for name in COUNTS:
            batch.alter_column(name, existing_type=sa.BigInteger(), nullable=False)
