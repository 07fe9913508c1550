"""How many rows a list has: exactly where that is cheap, else as the database's planner reckons."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.expression import ClauseElement, Executable

# So many rows are counted one by one on a server; a file, which has one user and no planner's figures, counts all.
EXACT_UP_TO = 10_000


def count_of(session: Session, query: Select[*tuple[Any, ...]], identity: Any) -> int:
    """The number of rows of `query`, which `identity` tells apart."""
    rows = query.with_only_columns(identity, maintain_column_froms=True).order_by(None)
    if session.get_bind().dialect.name != "postgresql":
        return _counted(session, rows)
    counted = _counted(session, rows.limit(EXACT_UP_TO + 1))
    return counted if counted <= EXACT_UP_TO else max(counted, _reckoned(session, rows))


def _counted(session: Session, rows: Select[*tuple[Any, ...]]) -> int:
    return session.scalars(select(func.count()).select_from(rows.subquery())).one()


def _reckoned(session: Session, rows: Select[*tuple[Any, ...]]) -> int:
    """From the table's `reltuples` and the statistics of the columns that are filtered by."""
    (plan,) = session.execute(_Plan(rows)).scalar_one()
    return int(plan["Plan"]["Plan Rows"])


class _Plan(Executable, ClauseElement):
    inherit_cache = False

    def __init__(self, query: Select[*tuple[Any, ...]]) -> None:
        self.query = query


@compiles(_Plan)
def _explain(element: _Plan, compiler: Any, **given: Any) -> str:
    return f"EXPLAIN (FORMAT JSON) {compiler.process(element.query, **given)}"
