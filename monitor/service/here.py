"""What a process of the service is about to work with, as the rules against unsafe mixes see it."""

from __future__ import annotations

import socket
from datetime import datetime, timedelta

from monitor.service.unsafe import Deployment, is_sqlite
from monitor.settings import Settings
from monitor.store import Beat, Beats, Store
from monitor.store.beats import STOPPED

_LATELY = timedelta(minutes=5)


def deployment(settings: Settings, store: Store, at: datetime) -> Deployment:
    return Deployment(
        sqlite=is_sqlite(settings.database),
        broker_url=None if settings.broker_url is None else settings.broker_url.get_secret_value(),
        host=socket.gethostname(),
        worker_hosts={host_of(beat) for beat in Beats(store.sessions).all() if _lives(beat, at)},
    )


def _lives(beat: Beat, at: datetime) -> bool:
    return beat.kind != STOPPED and at - beat.seen_at < _LATELY


def host_of(beat: Beat) -> str:
    """Celery's names end with the machine's."""
    return beat.name.rpartition("@")[2]
