"""What stands of each endpoint: of everything it was asked the last evidence that says anything.

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SAYING = "('ok', 'suspect', 'drift')"


def upgrade() -> None:
    op.create_table(
        "standing_evidence",
        sa.Column("endpoint_id", sa.String(40), nullable=False),
        sa.Column("suite", sa.String(64), nullable=False),
        sa.Column("metric", sa.String(64), nullable=False),
        sa.Column("evidence_id", BIG_KEY, nullable=False),
        sa.Column("latest_id", BIG_KEY, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("endpoint_id", "suite", "metric", name=op.f("pk_standing_evidence")),
        sa.ForeignKeyConstraint(
            ["endpoint_id"], ["endpoint.id"], name=op.f("fk_standing_evidence_endpoint_id_endpoint")
        ),
        sa.ForeignKeyConstraint(
            ["evidence_id"], ["evidence.id"], name=op.f("fk_standing_evidence_evidence_id_evidence")
        ),
        sa.ForeignKeyConstraint(["latest_id"], ["evidence.id"], name=op.f("fk_standing_evidence_latest_id_evidence")),
    )
    op.execute(_filled(op.get_context().dialect.name))


def downgrade() -> None:
    op.drop_table("standing_evidence")


def _filled(dialect: str) -> str:
    """As every run that ends does it from now on; what was held against a baseline that is closed stands no more."""
    suite = (
        "split_part(run.suite_version, '/', 1)"
        if dialect == "postgresql"
        else "substr(run.suite_version, 1, instr(run.suite_version, '/') - 1)"
    )
    return f"""
        WITH closed AS (
            SELECT endpoint_id, probe, suite, max(closed_at) AS closed_at FROM baseline WHERE closed_at IS NOT NULL
            GROUP BY endpoint_id, probe, suite
        ), of_suite AS (
            SELECT evidence.id, evidence.endpoint_id, evidence.metric, evidence.verdict, evidence.created_at, run.probe,
                CASE WHEN run.probe = 'evals' THEN {suite} ELSE '' END AS suite
            FROM evidence JOIN run ON run.id = evidence.run_id
        ), told AS (
            SELECT of_suite.* FROM of_suite LEFT JOIN closed ON closed.endpoint_id = of_suite.endpoint_id
                AND closed.probe = of_suite.probe AND closed.suite = of_suite.suite
            WHERE closed.closed_at IS NULL OR closed.closed_at < of_suite.created_at
                OR of_suite.metric = 'fidelity' OR substr(of_suite.metric, 1, 9) = 'fidelity.'
        ), last AS (
            SELECT endpoint_id, suite, metric, max(id) AS latest_id,
                coalesce(max(CASE WHEN verdict IN {_SAYING} THEN id END), max(id)) AS evidence_id
            FROM told GROUP BY endpoint_id, suite, metric
        ), stands AS (
            SELECT last.*, evidence.verdict FROM last JOIN evidence ON evidence.id = last.evidence_id
        ), turned AS (
            SELECT stands.endpoint_id, stands.suite, stands.metric, max(told.id) AS id
            FROM stands JOIN told ON told.endpoint_id = stands.endpoint_id AND told.suite = stands.suite
                AND told.metric = stands.metric
            WHERE told.verdict <> stands.verdict AND (told.verdict IN {_SAYING} OR stands.verdict NOT IN {_SAYING})
            GROUP BY stands.endpoint_id, stands.suite, stands.metric
        )
        INSERT INTO standing_evidence (endpoint_id, suite, metric, evidence_id, latest_id, since)
        SELECT stands.endpoint_id, stands.suite, stands.metric, min(stands.evidence_id), min(stands.latest_id),
            min(told.created_at)
        FROM stands JOIN told ON told.endpoint_id = stands.endpoint_id AND told.suite = stands.suite
            AND told.metric = stands.metric AND told.verdict = stands.verdict
        LEFT JOIN turned ON turned.endpoint_id = stands.endpoint_id AND turned.suite = stands.suite
            AND turned.metric = stands.metric
        WHERE turned.id IS NULL OR told.id > turned.id
        GROUP BY stands.endpoint_id, stands.suite, stands.metric
        """  # noqa: S608 - made of the words above
