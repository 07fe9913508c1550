"""A baseline for each private suite.

One that has the runs of several suites is now the baseline of the suite whose run opened it; the others enrol anew.

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ACTIVE = sa.text("status = 'active'")


def upgrade() -> None:
    op.drop_index("uq_baseline_active", "baseline")
    with op.batch_alter_table("baseline") as batch:
        batch.add_column(sa.Column("suite", sa.String(64), nullable=False, server_default=""))
        batch.drop_constraint(op.f("uq_baseline_endpoint_id_probe_version"), type_="unique")
        batch.create_unique_constraint(
            op.f("uq_baseline_endpoint_id_probe_suite_version"), ["endpoint_id", "probe", "suite", "version"]
        )
    _index_active("endpoint_id", "probe", "suite")
    name = (
        "split_part(run.suite_version, '/', 1)"
        if op.get_context().dialect.name == "postgresql"
        else "substr(run.suite_version, 1, instr(run.suite_version, '/') - 1)"
    )
    op.execute(
        f"""
        UPDATE baseline SET suite = (
            SELECT {name} FROM baseline_run JOIN run ON run.id = baseline_run.run_id
            WHERE baseline_run.baseline_id = baseline.id ORDER BY baseline_run.added_at, run.started_at LIMIT 1
        ) WHERE probe = 'evals'
        """  # noqa: S608 - made of the words above
    )


def downgrade() -> None:
    """Of several suites' baselines that are active, one stays so."""
    op.execute(
        """
        UPDATE baseline SET status = 'closed', closed_at = created_at WHERE probe = 'evals' AND status = 'active'
        AND EXISTS (
            SELECT 1 FROM baseline AS newer WHERE newer.endpoint_id = baseline.endpoint_id AND newer.probe = 'evals'
            AND newer.status = 'active' AND newer.id > baseline.id
        )
        """
    )
    op.drop_index("uq_baseline_active", "baseline")
    with op.batch_alter_table("baseline") as batch:
        batch.drop_constraint(op.f("uq_baseline_endpoint_id_probe_suite_version"), type_="unique")
    op.execute(
        """
        UPDATE baseline SET version = (
            SELECT count(*) FROM baseline AS older WHERE older.endpoint_id = baseline.endpoint_id
            AND older.probe = 'evals' AND older.id <= baseline.id
        ) WHERE probe = 'evals'
        """
    )
    with op.batch_alter_table("baseline") as batch:
        batch.drop_column("suite")
        batch.create_unique_constraint(
            op.f("uq_baseline_endpoint_id_probe_version"), ["endpoint_id", "probe", "version"]
        )
    _index_active("endpoint_id", "probe")


def _index_active(*columns: str) -> None:
    op.create_index(
        "uq_baseline_active", "baseline", list(columns), unique=True, sqlite_where=_ACTIVE, postgresql_where=_ACTIVE
    )
