"""The bell: wakes a worker for what the database holds. It carries ids only, and may be missed: it is rung again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from monitor.worker.names import QUEUE_OF, SWEEP

if TYPE_CHECKING:
    from celery import Celery

# Of one queue. More would only fill the broker while nobody hears them; what is left out is rung for later.
MOST_UNHEARD = 1000
# A bell is worth nothing once the sweeper has rung again; no sooner than hosts' clocks may differ.
_EXPIRES_AFTER_SWEEPS = 8
_EXPIRES_AFTER_S = 60.0

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
        sweep_s: float = app.conf.beat_schedule[SWEEP]["schedule"]
        self._expires = max(_EXPIRES_AFTER_S, _EXPIRES_AFTER_SWEEPS * sweep_s)

    def ring(self, task: str, *ids: str) -> None:
        # Here, as Celery is there then: it is not in a process that rings nothing.
        from kombu.exceptions import OperationalError
        from redis.exceptions import RedisError

        queue, messages = QUEUE_OF[task], [[one] for one in ids] or [[]]
        try:
            with self._app.producer_or_acquire() as producer:
                unheard = producer.channel.queue_declare(queue).message_count
                if unheard >= MOST_UNHEARD:
                    _log.warning(
                        "%d bells of the queue %s are unheard: no worker takes it, or too few do.", unheard, queue
                    )
                for arguments in messages[: max(0, MOST_UNHEARD - unheard)]:
                    self._app.send_task(
                        task,
                        args=arguments,
                        queue=queue,
                        producer=producer,
                        expires=self._expires,
                        retry=False,
                        ignore_result=True,
                    )
        except (OperationalError, RedisError, OSError) as error:
            # The error's text may hold the broker's URL.
            _log.warning("The bell %s was not heard: %s.", task, type(error).__name__)
