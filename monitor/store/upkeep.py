"""Looks after a database as a whole: is it sound, how large is it, how many rows does it hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from monitor.store.figures import database_bytes
from monitor.store.session import Sessions
from monitor.store.tables import Table

# A damaged file can have as many complaints as pages.
MOST_COMPLAINTS = 20


@dataclass(frozen=True, slots=True)
class Size:
    """`bytes` counts the indexes too; None where the database does not tell."""

    rows: int
    bytes: int | None


def revision(session: Session) -> str:
    return str(session.scalar(text("SELECT version_num FROM alembic_version")))


def counts(session: Session) -> dict[str, int]:
    """The rows of every table."""
    tables = Table.metadata.sorted_tables
    return {table.name: session.scalars(select(func.count()).select_from(table)).one() for table in tables}


def complaints(session: Session) -> list[str]:
    """What is wrong with the file; empty where it is sound. A server checks its own."""
    if session.get_bind().dialect.name == "postgresql":
        return []
    told = [str(line) for line in session.scalars(text(f"PRAGMA integrity_check({MOST_COMPLAINTS})"))]
    orphans = session.execute(text("PRAGMA foreign_key_check")).all()
    found = [line for line in told if line != "ok"]
    return found + [f"{row[0]}: row {row[1]} has no {row[2]}" for row in orphans[:MOST_COMPLAINTS]]


def sizes(session: Session) -> dict[str, Size]:
    """Rows and bytes of every table, the largest first."""
    weights = _bytes_by_table(session)
    found = {name: Size(rows, weights.get(name)) for name, rows in counts(session).items()}
    return dict(sorted(found.items(), key=lambda item: (-(item[1].bytes or 0), -item[1].rows, item[0])))


def _bytes_by_table(session: Session) -> Mapping[str, int]:
    if session.get_bind().dialect.name == "postgresql":
        query = "SELECT relname, pg_total_relation_size(relid) FROM pg_catalog.pg_stat_user_tables"
    elif session.scalar(text("SELECT count(*) FROM pragma_module_list WHERE name = 'dbstat'")):
        query = (
            "SELECT entry.tbl_name, sum(stat.pgsize) FROM dbstat AS stat "
            "JOIN sqlite_schema AS entry ON entry.name = stat.name WHERE stat.aggregate = 1 GROUP BY entry.tbl_name"
        )
    else:
        return {}
    return {name: int(size) for name, size in session.execute(text(query))}


class Upkeep:
    """Every method is the function of its name, over a view of one moment."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def revision(self) -> str:
        with self._sessions.read() as session:
            return revision(session)

    def counts(self) -> dict[str, int]:
        with self._sessions.read() as session:
            return counts(session)

    def complaints(self) -> list[str]:
        with self._sessions.read() as session:
            return complaints(session)

    def sizes(self) -> dict[str, Size]:
        with self._sessions.read() as session:
            return sizes(session)

    def database_bytes(self) -> int:
        with self._sessions.read() as session:
            return database_bytes(session)
