"""`monitor beat`: rings for what the service does at fixed times, as one process of it."""

from __future__ import annotations

import socket

from monitor.logs import configure_service_logging
from monitor.service.unsafe import Deployment, check_worker, is_sqlite
from monitor.settings import load_settings
from monitor.worker.run import run_beat


def beat() -> None:
    """Wake the workers at fixed times, until SIGTERM or Ctrl-C. One is enough; a second one is harmless."""
    settings = load_settings()
    configure_service_logging("beat", settings.log_format)
    # It never opens the database, and stays small.
    broker_url = None if settings.broker_url is None else settings.broker_url.get_secret_value()
    check_worker(Deployment(is_sqlite(settings.database), broker_url, socket.gethostname()))
    run_beat(settings)
