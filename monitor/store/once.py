"""Rows that may be there already: the one that came first stays, without a race."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, inspect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Session

from monitor.store.pages import pages
from monitor.store.tables import Table


def insert_once(session: Session, table: type[Table], **values: Any) -> bool:
    """Insert a row unless one with the same unique key is there; whether it was inserted."""
    insert = _insert(session, table).values(**values).on_conflict_do_nothing()
    return session.execute(insert.returning(*inspect(table).primary_key)).first() is not None


def insert_new(session: Session, table: type[Table], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Insert those rows whose unique keys are not there yet; the primary keys of these, in the given order."""
    (key,) = inspect(table).primary_key
    new: set[str] = set()
    for some in pages(rows):
        insert = _insert(session, table).values(list(some)).on_conflict_do_nothing()
        new.update(session.scalars(insert.returning(key)))
    return [row[key.name] for row in rows if row[key.name] in new]


def insert_returning(
    session: Session, table: type[Table], rows: Sequence[Mapping[str, Any]], *columns: InstrumentedAttribute[Any]
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Insert those rows whose unique keys are not there yet; `columns` of these, in no order."""
    if not rows:
        return ()
    insert = _insert(session, table).on_conflict_do_nothing().returning(*columns)
    return session.connection().execute(insert, rows).all()


def _insert(session: Session, table: type[Table]) -> postgresql.Insert | sqlite.Insert:
    dialect = session.get_bind().dialect.name
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
