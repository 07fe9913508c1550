"""What goes wrong below the store, as one StorageError that names the database, the cause and the remedy."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from monitor.errors import StorageError
from monitor.store.database import Database
from reference_engine.errors import CodedError

_RESTORE = "Move it away and restore a backup (*.bak beside it), or start with a new MONITOR_DATA_DIR."
_SPACE = "Free some space, or set MONITOR_DATA_DIR to a directory on another disk; then run the command again."
_RIGHTS = "Correct the owner and mode of the file and its directory, or set MONITOR_DATA_DIR to another directory."

# https://sqlite.org/rescode.html
_SQLITE = {
    sqlite3.SQLITE_PERM: ("may not be opened", _RIGHTS),
    sqlite3.SQLITE_BUSY: (
        "is locked: another process has been writing for more than 5 seconds",
        "Wait for it to finish, or end it; then run the command again.",
    ),
    sqlite3.SQLITE_LOCKED: ("is locked by this process", "Run the command again."),
    sqlite3.SQLITE_READONLY: ("cannot be written: it is read-only", _RIGHTS),
    sqlite3.SQLITE_IOERR: ("cannot be read or written: the disk reports an error or refuses to grow the file", _SPACE),
    sqlite3.SQLITE_CORRUPT: ("is damaged", _RESTORE),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", _SPACE),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", _RIGHTS),
    sqlite3.SQLITE_NOTADB: ("is not a database", _RESTORE),
}
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REPORT = "Please report this with the command that led to it."


@contextmanager
def storage_faults(database: Database) -> Iterator[None]:
    """Turn every fault of the driver, the file system or SQLAlchemy within the block into a StorageError.

    The driver's own text is kept only where it cannot hold stored values.
    """
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, OverflowError, UnicodeEncodeError) as error:
        raise _storage_error(database, error) from error


def _storage_error(database: Database, error: Exception) -> CodedError:
    cause = error.orig if isinstance(error, StatementError) and error.orig is not None else error
    if isinstance(cause, CodedError):
        return cause
    if isinstance(cause, sqlite3.Error):
        return _sqlite_error(database, cause)
    if isinstance(cause, OSError):
        reason = cause.strerror or type(cause).__name__
        return StorageError(
            f"The database {database} cannot be used: {cause.filename}: {reason}.",
            remedy=_SPACE if cause.errno in _NO_SPACE else _RIGHTS,
        )
    if isinstance(cause, OverflowError | ValueError | TypeError):
        # These name a type or one character, not the value.
        return StorageError(f"The database {database} refused a value: {cause}.", remedy=_REPORT)
    if isinstance(cause, PoolTimeoutError):
        return StorageError(
            f"The database {database} cannot be used: all connections are taken.", remedy="Run fewer threads at once."
        )
    return _server_error(database, cause)


def _sqlite_error(database: Database, cause: sqlite3.Error) -> StorageError:
    code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    # The low byte is the primary result code, the rest says more of the same.
    known = _SQLITE.get(code & 0xFF)
    if known is None:
        return StorageError(f"The database {database} refused a change: {cause}.", remedy=_REPORT)
    what, remedy = known
    return StorageError(f"The database {database} {what} ({getattr(cause, 'sqlite_errorname', code)}).", remedy=remedy)


def _server_error(database: Database, cause: BaseException) -> StorageError:
    state = getattr(cause, "sqlstate", None)
    what = type(cause).__name__ + (f", SQLSTATE {state}" if state else "")
    return StorageError(f"The database {database} cannot be used ({what}).", remedy="Check the server and its log.")
