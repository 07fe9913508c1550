"""Writes down that a worker has ended, so that one on another machine may take over its SQLite file at once."""

from __future__ import annotations

import logging

from monitor.errors import StorageError
from monitor.settings import Settings
from monitor.store.beats import Beats
from monitor.store.database import Database
from monitor.store.session import Sessions

_log = logging.getLogger(__name__)


def leave(settings: Settings, name: str) -> None:
    """Say that the worker `name` lives no more. Where that cannot be written, it counts as alive for some minutes."""
    sessions = Sessions(Database.named(settings.database))
    try:
        Beats(sessions).stopped(name)
    except StorageError as error:
        _log.warning("The worker's end was not written down: %s", error.message)
    finally:
        sessions.close()
