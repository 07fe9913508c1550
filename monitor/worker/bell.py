"""The bell: wakes a worker for what the database holds. It carries ids only, and may be missed: it is rung again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from monitor.worker.names import QUEUE_OF

if TYPE_CHECKING:
    from celery import Celery

_log = logging.getLogger(__name__)


class Bell(Protocol):
    """Ring it after the commit, never before."""

    def ring(self, task: str, *ids: str) -> None:
        """One message for each id, or one without any. Never raises for a broker that is away."""


class SilentBell:
    """Wakes nobody."""

    def ring(self, task: str, *ids: str) -> None:
        """The sweeper will."""


class CeleryBell:
    """Publishes to the broker of an app."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def ring(self, task: str, *ids: str) -> None:
        # Here, as Celery is there then: it is not in a process that rings nothing.
        from kombu.exceptions import OperationalError

        try:
            messages: list[list[str]] = [[one] for one in ids] or [[]]
            for arguments in messages:
                self._app.send_task(task, args=arguments, queue=QUEUE_OF[task], retry=False, ignore_result=True)
        except (OperationalError, OSError) as error:
            # The error's text may hold the broker's URL.
            _log.warning("The bell %s was not heard: %s.", task, type(error).__name__)
