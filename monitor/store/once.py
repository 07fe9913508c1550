"""Get-or-create without a race: the row that came first stays, and everyone reads that one."""

from __future__ import annotations

from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from monitor.store.tables import Table


def insert_once(session: Session, table: type[Table], **values: Any) -> None:
    """Insert a row unless one with the same unique key is there."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(postgresql.insert(table).values(**values).on_conflict_do_nothing())
    else:
        session.execute(sqlite.insert(table).values(**values).on_conflict_do_nothing())
