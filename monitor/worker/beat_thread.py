"""Beat as a thread of a worker: it cannot be missing where the worker lives, since the worker ends where it does."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Thread
from typing import Any

from celery import Celery
from celery.beat import Service
from celery.bootsteps import StartStopStep

from monitor.worker.ending import end_worker

_log = logging.getLogger(__name__)


class BeatThread(Thread):
    """Rings until it is stopped; `on_failure` is called, in this thread, where it ends before that."""

    def __init__(self, app: Celery, on_failure: Callable[[], None]) -> None:
        super().__init__(name="beat", daemon=True)
        self._service = Service(app, scheduler_cls=app.conf.beat_scheduler)
        self._on_failure = on_failure
        self._stopped = False

    def run(self) -> None:
        try:
            self._service.start()
        except Exception as error:  # noqa: BLE001 - whatever it was, nothing would be rung for any more
            # Its text may hold the broker's URL.
            _log.error("Beat ended with %s.", type(error).__name__)
        if not self._stopped:
            self._on_failure()

    def stop(self) -> None:
        self._stopped = True
        self._service.stop()


class BeatStep(StartStopStep):  # type: ignore[misc]  # celery has no types
    """Starts after the pool, whose processes are not to inherit a thread's locks."""

    requires = ("celery.worker.components:Pool",)

    def create(self, worker: Any) -> BeatThread:
        return BeatThread(worker.app, end_worker)
