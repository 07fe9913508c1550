"""Brings a database to the schema of this program: creates it, upgrades it after a backup, or refuses it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection, NullPool, inspect, text

from monitor.errors import SchemaVersionError, StorageError
from monitor.store.database import Database
from monitor.store.faults import storage_faults
from monitor.store.session import BUSY_TIMEOUT_MS, open_engine
from monitor.store.snapshot import snapshot

if TYPE_CHECKING:
    from alembic.config import Config

_VERSION_TABLE = "alembic_version"
# Any number will do that no other program on the server uses for its own lock.
_ADVISORY_LOCK = 0x6D6F6E69


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema by its revision, and where Alembic finds the migrations that lead to it."""

    revision: str
    scripts: str = "migrations:"

    def alembic_config(self) -> Config:
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", self.scripts)
        return config


# Written down here so that opening a database that is up to date need not load Alembic; a test holds it to the head.
CURRENT = Schema("0016")


def prepare(database: Database, at: datetime, schema: Schema = CURRENT) -> None:
    """Make `database` usable: a new one is created whole, an older SQLite file is backed up and upgraded.

    Raises SchemaVersionError for a newer schema, or an older one on a server (whose upgrade its operator runs), and
    StorageError for what is no database of this program or cannot be opened. `at` names the backup.
    """
    with storage_faults(database), exclusive(database):
        revision = _revision(database)
        if revision == schema.revision:
            return
        if revision is not None:
            _refuse_unknown(database, revision, schema)
            _refuse_server(database, revision, schema)
            _back_up(database, revision, at)
        _upgrade(database, schema)


def upgrade(database: Database, at: datetime, schema: Schema = CURRENT) -> str | None:
    """Bring any database to the schema, a server's too, after a backup where it is a file; the revision it had, None
    for an empty one. Raises as `prepare` does."""
    with storage_faults(database), exclusive(database):
        revision = _revision(database)
        if revision == schema.revision:
            return revision
        if revision is not None:
            _refuse_unknown(database, revision, schema)
            _back_up(database, revision, at)
        _upgrade(database, schema)
        return revision


def current_revision(database: Database) -> str | None:
    """The schema's revision, None for an empty database. Raises StorageError for another program's."""
    with storage_faults(database):
        return _revision(database)


@contextmanager
def exclusive(database: Database) -> Iterator[None]:
    """Only one process at a time creates or upgrades a SQLite file: switching a file to WAL fails at once, whatever the
    timeout, while another one does so. A server has its own lock, taken in `migration`."""
    if database.path is None:
        yield
        return
    _create_file(database)
    with database.path.with_name(f"{database.path.name}.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _use_wal(database)
        yield


@contextmanager
def migration(database: Database) -> Iterator[Connection]:
    """A connection in one transaction for a change of the schema; what is killed half-way is undone.

    Batch operations drop and rename tables, so foreign keys are off meanwhile and checked before the commit.
    """
    pragmas = (f"busy_timeout = {BUSY_TIMEOUT_MS}", "foreign_keys = OFF")
    engine = open_engine(database, begin="BEGIN IMMEDIATE", pragmas=pragmas, poolclass=NullPool)
    with engine.begin() as connection:
        if database.path is None:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        yield connection
        if database.path is not None:
            _check_foreign_keys(database, connection)


def _create_file(database: Database) -> None:
    if database.path is None or not database.may_be_created or database.path.exists():
        return
    try:
        # Samples are private; SQLite gives its other files the same mode.
        os.close(os.open(database.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return


def _use_wal(database: Database) -> None:
    engine = open_engine(database, begin="BEGIN", pragmas=(f"busy_timeout = {BUSY_TIMEOUT_MS}",), poolclass=NullPool)
    with closing(engine.raw_connection()) as connection:
        cursor = connection.cursor()
        if cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            return
        # Space that pruning frees can go back to the disk only if this comes before the first table.
        cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")
        (mode,) = cursor.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StorageError(
            f"The database {database} cannot use a write-ahead log (its journal mode stays {mode}).",
            remedy="Put MONITOR_DATA_DIR on a local disk.",
        )


def _revision(database: Database) -> str | None:
    """The schema's revision, None for an empty database."""
    engine = open_engine(database, begin="BEGIN", poolclass=NullPool)
    with engine.connect() as connection:
        tables = set(inspect(connection).get_table_names())
        revisions = []
        if _VERSION_TABLE in tables:
            revisions = list(connection.scalars(text(f"SELECT version_num FROM {_VERSION_TABLE}")))  # noqa: S608
    if not revisions and tables <= {_VERSION_TABLE}:
        return None
    if len(revisions) != 1:
        raise StorageError(
            f"The database {database} belongs to another program.", remedy="Set MONITOR_DATA_DIR to another directory."
        )
    return str(revisions[0])


def _refuse_unknown(database: Database, revision: str, schema: Schema) -> None:
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(schema.alembic_config())
    if revision not in {script.revision for script in scripts.walk_revisions()}:
        raise SchemaVersionError(
            f"The database {database} has schema {revision}; this program knows schemas up to {schema.revision}.",
            remedy="Upgrade the program (`pip install --upgrade endpoint-monitor`), or set MONITOR_DATA_DIR to another "
            "directory.",
        )


def _refuse_server(database: Database, revision: str, schema: Schema) -> None:
    """Whoever runs a server says when all that use it are upgraded together."""
    if database.path is None:
        raise SchemaVersionError(
            f"The database {database} has schema {revision}; this program needs schema {schema.revision}.",
            remedy="Stop the service, back the database up and run `monitor db upgrade`.",
        )


def _back_up(database: Database, revision: str, at: datetime) -> None:
    """Copy the file to `NAME.REVISION.TIME.bak` beside it, whole or not at all."""
    if database.path is None:
        return
    stamp = at.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    backup = database.path.with_name(f"{database.path.name}.{revision}.{stamp}.bak")
    snapshot(database.path, backup)


def _upgrade(database: Database, schema: Schema) -> None:
    from alembic import command

    config = schema.alembic_config()
    with migration(database) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _check_foreign_keys(database: Database, connection: Connection) -> None:
    orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    if orphans:
        raise StorageError(
            f"The upgrade of {database} was undone: {len(orphans)} rows lost their parent, first in {orphans[0][0]}.",
            remedy="Please report this; the database is as it was.",
        )
