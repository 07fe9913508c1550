"""Agent loops are a probe.

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

PROBES = ("logprobs", "border", "sampling", "accounting", "tool_calls", "evals", "latency", "protocol")
NEW = "agent_loops"


def upgrade() -> None:
    _allow(*PROBES, NEW)


def downgrade() -> None:
    _forget()
    _allow(*PROBES)


def _allow(*probes: str) -> None:
    for table in ("baseline", "run"):
        name = op.f(f"ck_{table}_probe")
        with op.batch_alter_table(table) as batch:
            batch.drop_constraint(name, type_="check")
            batch.create_check_constraint(name, sa.column("probe").in_(probes))


def _forget() -> None:
    """What an earlier program has no word for, children before their parents."""
    runs = f"SELECT id FROM run WHERE probe = '{NEW}'"  # noqa: S608
    samples = f"SELECT id FROM sample WHERE run_id IN ({runs})"  # noqa: S608
    op.execute(f"DELETE FROM sample_body WHERE sample_id IN ({samples})")  # noqa: S608
    for table in ("sample", "observation", "evidence", "metric_point", "baseline_run"):
        op.execute(f"DELETE FROM {table} WHERE run_id IN ({runs})")  # noqa: S608
    for table in ("run", "baseline"):
        op.execute(f"DELETE FROM {table} WHERE probe = '{NEW}'")  # noqa: S608
