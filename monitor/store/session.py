"""Connections: one session maker that writes (BEGIN IMMEDIATE) and one that reads and refuses to write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from threading import RLock
from typing import Any

from sqlalchemy import Connection, Engine, Pool, create_engine, event
from sqlalchemy.orm import Session, sessionmaker

from monitor.errors import StorageError
from monitor.store.database import Database
from monitor.store.faults import storage_faults

BUSY_TIMEOUT_MS = 5000
# A worker that stands still within a transaction holds its rows from everybody else; a lease is not worth more.
IDLE_WRITER_S = 20
# A server that vanishes without a word (its machine, the network) is given up within half a minute, not in hours.
SERVER_DEFAULTS = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
_JOURNAL_SIZE_LIMIT = 64 * 1024 * 1024
# Few enough that no other writer waits noticeably (SERVICE.md 3.4).
_PAGES_AT_ONCE = 200

_PRAGMAS = (
    f"busy_timeout = {BUSY_TIMEOUT_MS}",
    "synchronous = NORMAL",
    "foreign_keys = ON",
    f"journal_size_limit = {_JOURNAL_SIZE_LIMIT}",
)


class Sessions:
    """The two ways into one database. Every block is one transaction: it is kept whole or not at all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # A transaction that reads first and writes later fails at once when another one wrote in between, whatever the
        # timeout; IMMEDIATE waits its turn instead (SERVICE.md F8).
        self._writer = open_engine(database, begin="BEGIN IMMEDIATE")
        if database.path is None:
            event.listen(self._writer, "connect", _limit_idleness)
        self._reader = open_engine(database, begin="BEGIN", pragmas=(*_PRAGMAS, "query_only = ON"))
        self._writing = sessionmaker(self._writer, expire_on_commit=False)
        steady = self._reader.execution_options(**_reading_options(database))
        self._reading = sessionmaker(steady, expire_on_commit=False)
        event.listen(self._reading, "before_flush", _refuse_to_flush)
        # SQLite serves waiting writers in no order, so that under load one of many threads would run into the timeout.
        self._turn = RLock() if database.path is not None else nullcontext()

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction that ends in a commit, or in nothing at all where the block raises."""
        with self._turn, storage_faults(self._database), self._writing.begin() as session:
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A view of the database as of one moment. Writing through it raises StorageError."""
        with storage_faults(self._database), self._reading() as session:
            yield session

    def give_back_space(self) -> None:
        """Return some of the pages that deletions freed to the file system; a server does that by itself."""
        if self._database.path is None:
            return
        with self._turn, storage_faults(self._database), closing(self._writer.raw_connection()) as connection:
            # Unlike execute(), which stops after one page.
            connection.cursor().executescript(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")

    def close(self) -> None:
        self._writer.dispose()
        self._reader.dispose()


def open_engine(
    database: Database, *, begin: str, pragmas: tuple[str, ...] = _PRAGMAS, poolclass: type[Pool] | None = None
) -> Engine:
    """An engine whose SQLite transactions start with `begin` and whose connections carry `pragmas`.

    Statements in error messages and logs come without their parameters, which may be private prompts.
    """
    engine = create_engine(
        database.url,
        connect_args=_connect_args(database),
        poolclass=poolclass,
        hide_parameters=True,
        # A server that was restarted has closed every connection of the pool.
        pool_pre_ping=database.path is None,
        json_serializer=partial(json.dumps, separators=(",", ":")),
    )
    if database.path is not None:
        event.listen(engine, "connect", partial(_prepare_connection, pragmas))
        event.listen(engine, "begin", partial(_begin, begin))
    return engine


def _connect_args(database: Database) -> dict[str, Any]:
    """What the URL says itself counts."""
    if database.path is not None:
        return {}
    return {name: value for name, value in SERVER_DEFAULTS.items() if name not in database.url.query}


def _reading_options(database: Database) -> dict[str, Any]:
    """What makes a server's transaction as steady and harmless as SQLite's BEGIN with query_only."""
    if database.path is not None:
        return {}
    return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def _prepare_connection(pragmas: tuple[str, ...], connection: Any, _record: object) -> None:
    # The driver would otherwise begin transactions itself, later than asked and never IMMEDIATE.
    connection.isolation_level = None
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")


def _limit_idleness(connection: Any, _record: object) -> None:
    connection.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_WRITER_S}s'")
    connection.commit()


def _begin(statement: str, connection: Connection) -> None:
    connection.exec_driver_sql(statement)


def _refuse_to_flush(session: Session, _context: object, _instances: object) -> None:
    if session.new or session.dirty or session.deleted:
        raise StorageError("A reading session was asked to write.", remedy="Write through Sessions.write().")
