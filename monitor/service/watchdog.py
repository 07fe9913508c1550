"""Ends a worker that has stopped working without knowing it, so that whoever keeps it running starts it anew."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Collection
from datetime import datetime
from threading import Thread

from monitor import clock
from monitor.errors import StorageError
from monitor.service.stalled import Labour, stalled
from monitor.settings import Settings
from monitor.store.database import Database
from monitor.store.labour import busy_until, due_since, progress_at
from monitor.store.session import Sessions
from monitor.worker.ending import end_worker

_EVERY_S = 30.0

_log = logging.getLogger(__name__)


def watch(settings: Settings, name: str, queues: Collection[str], started: datetime) -> Thread:
    """Look after the worker `name` of this process, which began at `started`, in a thread that ends with it."""
    thread = Thread(target=_run, args=(settings, name, queues, started), name="watchdog", daemon=True)
    thread.start()
    return thread


def labour(sessions: Sessions, name: str, queues: Collection[str], started: datetime, now: datetime) -> Labour:
    with sessions.read() as session:
        progressed = progress_at(session, name)
        return Labour(
            progress_at=started if progressed is None else max(started, progressed),
            due_since=due_since(session, queues, now),
            busy_until=busy_until(session, socket.gethostname()),
        )


def _run(settings: Settings, name: str, queues: Collection[str], started: datetime) -> None:
    while True:
        time.sleep(_EVERY_S)
        if _is_stalled(settings, name, queues, started):
            _log.error("The worker finished nothing for minutes while work was due; it ends.")
            end_worker()


def _is_stalled(settings: Settings, name: str, queues: Collection[str], started: datetime) -> bool:
    # Open for this one look only: a pool that forks must not inherit it.
    sessions = Sessions(Database.named(settings.database))
    try:
        now = clock.now()
        return stalled(labour(sessions, name, queues, started, now), now)
    except StorageError as error:
        _log.warning("The watchdog could not look: %s", error.message)
        return False
    finally:
        sessions.close()
