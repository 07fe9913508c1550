"""Private eval sets, sealed.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "suite",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_suite")),
    )
    op.create_table(
        "suite_version",
        sa.Column("suite", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("format", sa.String(16), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.Column("imported_by", sa.String(128), nullable=False),
        sa.Column("imported_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["suite"], ["suite.name"], name=op.f("fk_suite_version_suite_suite"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("suite", "version", name=op.f("pk_suite_version")),
        sa.UniqueConstraint("suite", "sha256", name=op.f("uq_suite_version_suite_sha256")),
    )
    op.create_table(
        "suite_chunk",
        sa.Column("suite", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["suite", "version"],
            ["suite_version.suite", "suite_version.version"],
            name=op.f("fk_suite_chunk_suite_version_suite_version"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("suite", "version", "position", name=op.f("pk_suite_chunk")),
    )


def downgrade() -> None:
    for table in ("suite_chunk", "suite_version", "suite"):
        op.drop_table(table)
