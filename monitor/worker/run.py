"""Runs a worker or beat in this process until it is told to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from celery import Celery
from celery.signals import worker_shutting_down

from monitor.settings import Settings
from monitor.worker.app import make_app
from monitor.worker.names import QUEUES
from monitor.worker.stop_sign import StopSign

Pool = Literal["threads", "prefork"]


def run_worker(
    settings: Settings,
    *,
    pool: Pool,
    concurrency: int,
    queues: Sequence[str] = QUEUES,
    name: str = "worker@%h",
    with_beat: bool = False,
) -> None:
    """Threads for a service on one machine, processes (prefork) for production.

    On SIGTERM the checks that are being made are given back to the queue, and the process ends with exit code 0.
    """
    # Beat alone, which lives in this module too, needs none of what the tasks bring in.
    from monitor.worker.beat_thread import BeatStep
    from monitor.worker.leaving import leave
    from monitor.worker.slots import Slots
    from monitor.worker.tasks import add_tasks

    stop = StopSign()
    app = make_app(settings)
    add_tasks(app, settings, stop, queues, Slots.beside_others(concurrency, queues))

    def put_up_the_sign(**_: Any) -> None:
        stop.put_up()

    worker_shutting_down.connect(put_up_the_sign, weak=False)
    if with_beat:
        app.steps["worker"].add(BeatStep)
    words = [
        "worker",
        f"--pool={pool}",
        f"--concurrency={concurrency}",
        f"--queues={','.join(queues)}",
        f"--hostname={name}",
        "--loglevel=WARNING",
        "--without-gossip",
        "--without-mingle",
    ]
    try:
        _run(app, words)
    finally:
        leave(settings, name)


def run_beat(settings: Settings) -> None:
    """A second one anywhere is harmless."""
    _run(make_app(settings), ["beat", "--loglevel=WARNING", "--pidfile="])


def _run(app: Celery, words: list[str]) -> None:
    app.start(argv=["--quiet", *words])
