"""Rollups keep the values that they add up, for their quantiles.

Those of a rollup some of whose points are gone already stay unknown (null).

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import struct

import sqlalchemy as sa
from alembic import context, op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


class _Packed:
    """What float8send and string_agg make of a column, for SQLite."""

    def __init__(self) -> None:
        self._values = bytearray()

    def step(self, value: float) -> None:
        self._values += struct.pack(">d", value)

    def finalize(self) -> bytes:
        return bytes(self._values)


def upgrade() -> None:
    op.add_column("metric_rollup", sa.Column("point_values", sa.LargeBinary(), nullable=True))
    if op.get_context().dialect.name == "postgresql":
        _fill(
            "string_agg(float8send(p.value), ''::bytea)", "r.start + interval '1 hour'", "r.start + interval '24 hours'"
        )
    elif not context.is_offline_mode():
        connection = op.get_bind().connection.dbapi_connection
        connection.create_aggregate("packed", 1, _Packed)  # type: ignore[union-attr]
        later = "strftime('%Y-%m-%d %H:%M:%S.000000', r.start, '+{} hours')"
        _fill("packed(p.value)", later.format(1), later.format(24))


def downgrade() -> None:
    op.drop_column("metric_rollup", "point_values")


def _fill(values: str, an_hour_later: str, a_day_later: str) -> None:
    for bucket, end in (("hour", an_hour_later), ("day", a_day_later)):
        statement = f"""
            UPDATE metric_rollup AS r SET point_values = (
                SELECT CASE WHEN count(*) = r.points THEN {values} END FROM metric_point AS p
                WHERE p.endpoint_id = r.endpoint_id AND p.metric = r.metric AND p.ts >= r.start AND p.ts < {end}
            ) WHERE r.bucket = '{bucket}'
        """  # noqa: S608 - made of the words above
        op.execute(sa.text(statement.replace(":", "\\:")))
