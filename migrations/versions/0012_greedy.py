"""Greedy answers are a probe.

Revision ID: 0012
Revises: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

PROBES = (
    "logprobs",
    "border",
    "sampling",
    "accounting",
    "tool_calls",
    "evals",
    "latency",
    "protocol",
    "agent_loops",
)
NEW = "greedy"


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
    """What an earlier program has no word for, children before their parents. Looks at streams counted greedy ones too:
    what is computed anew of these epochs differs from what is stored."""
    runs = f"SELECT id FROM run WHERE probe = '{NEW}'"  # noqa: S608
    samples = f"SELECT id FROM sample WHERE run_id IN ({runs})"  # noqa: S608
    evidence = f"SELECT id FROM evidence WHERE run_id IN ({runs})"  # noqa: S608
    streams = "SELECT id FROM stream WHERE tier = 'T3'"
    epochs = f"SELECT id FROM stream_epoch WHERE stream_id IN ({streams})"  # noqa: S608
    op.execute(f"DELETE FROM sample_body WHERE sample_id IN ({samples})")  # noqa: S608
    op.execute(
        f"DELETE FROM standing_evidence WHERE evidence_id IN ({evidence}) OR latest_id IN ({evidence})"  # noqa: S608
    )
    op.execute(f"UPDATE endpoint_look SET run_id = NULL WHERE run_id IN ({runs})")  # noqa: S608
    op.execute(f"DELETE FROM stream_evidence WHERE stream_id IN ({streams}) OR run_id IN ({runs})")  # noqa: S608
    op.execute(f"DELETE FROM stream_state WHERE stream_epoch_id IN ({epochs})")  # noqa: S608
    op.execute(f"DELETE FROM stream_epoch WHERE stream_id IN ({streams})")  # noqa: S608
    op.execute("DELETE FROM stream WHERE tier = 'T3'")
    for table in ("sample", "observation", "evidence", "metric_point", "baseline_run"):
        op.execute(f"DELETE FROM {table} WHERE run_id IN ({runs})")  # noqa: S608
    for table in ("run", "baseline"):
        op.execute(f"DELETE FROM {table} WHERE probe = '{NEW}'")  # noqa: S608
