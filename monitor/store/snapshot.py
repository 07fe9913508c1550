"""A copy of a SQLite file as of one moment, whoever writes to it meanwhile."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from monitor.store.session import BUSY_TIMEOUT_MS


def snapshot(file: Path, target: Path) -> None:
    """Copy `file` to `target`, whole or not at all, readable by its owner only."""
    draft = target.with_suffix(".part")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(file, timeout=BUSY_TIMEOUT_MS / 1000)) as connection:
            connection.execute("VACUUM INTO ?", (str(draft),))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def settle(file: Path) -> bool:
    """Bring everything of a SQLite file into that one file; whether nobody else has it open."""
    with closing(sqlite3.connect(file, timeout=BUSY_TIMEOUT_MS / 1000)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    # The last one to close it removes the log.
    return not file.with_name(f"{file.name}-wal").exists()
