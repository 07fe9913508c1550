"""The users and tokens of this installation, for the commands that may change them because they may read its files."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager

from monitor.cli.recorded import created_store
from monitor.store.access import Access


@contextmanager
def opened_access() -> Iterator[Access]:
    """The database is made where there is none."""
    with created_store() as store:
        yield Access(store.sessions)


def this_person() -> str:
    """Who runs the command, for the audit log."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return "cli:unknown"
