"""`monitor worker`: makes the checks and sends the notices, as one process of the service."""

from __future__ import annotations

import os
import socket
from enum import StrEnum
from typing import Annotated

import typer

from monitor import clock
from monitor.cli.recorded import created_store
from monitor.errors import UsageError
from monitor.logs import configure_service_logging
from monitor.service.here import deployment
from monitor.service.unsafe import check_worker
from monitor.service.watchdog import watch
from monitor.settings import Settings, load_settings
from monitor.worker.names import QUEUES
from monitor.worker.run import run_worker


class Pool(StrEnum):
    PREFORK = "prefork"
    THREADS = "threads"


def worker(
    queue: Annotated[
        list[str] | None, typer.Option(help=f"Only this queue; may be given several times: {', '.join(QUEUES)}.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Checks and notices at a time; default: twice the processors.")
    ] = None,
    pool: Annotated[Pool, typer.Option(help="prefork: processes; threads: one process, for SQLite.")] = Pool.PREFORK,
    name: Annotated[str, typer.Option(help="Its name; has to differ among the workers of a machine.")] = "worker",
    beat: Annotated[bool, typer.Option("--beat", help="Also do what `monitor beat` does, in this process.")] = False,
) -> None:
    """Make checks and send notices until SIGTERM or Ctrl-C. Any number may work on one PostgreSQL database."""
    settings = load_settings()
    configure_service_logging(name, settings.log_format)
    queues = _known(queue) if queue else QUEUES
    _check(settings)
    full_name = f"{name}@{socket.gethostname()}"
    watch(settings, full_name, queues, clock.now())
    run_worker(
        settings,
        pool=pool.value,
        concurrency=concurrency or 2 * (os.cpu_count() or 1),
        queues=queues,
        name=full_name,
        with_beat=beat,
    )


def _check(settings: Settings) -> None:
    """Refuse what would lose or double checks."""
    with created_store() as store:
        check_worker(deployment(settings, store, clock.now()))


def _known(queues: list[str]) -> tuple[str, ...]:
    unknown = [queue for queue in queues if queue not in QUEUES]
    if unknown:
        raise UsageError(f"There is no queue '{unknown[0]}'.", remedy=f"The queues are {', '.join(QUEUES)}.")
    return tuple(queue for queue in QUEUES if queue in queues)
