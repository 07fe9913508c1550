"""Keeps a check's lease while it is made, and stops the asking once the lease is lost or the worker is to stop."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread
from types import TracebackType
from typing import Self

from monitor import clock
from monitor.check.brake import Brake
from monitor.errors import LeaseLostError, StorageError
from monitor.store import Lease, Queue
from monitor.worker.stop_sign import StopSign

# A lease is extended this often while it lasts, so that one missed time costs nothing.
BEATS_A_LEASE = 4
# Of one attempt: beyond Celery's own limit, which a pool of threads does not keep, it hangs and is another's to make.
LONGEST = timedelta(minutes=30)
_POLL_S = 0.5

_TOO_LONG = "Nothing needs to be done: its lease runs out, and another attempt is made."

_log = logging.getLogger(__name__)


class WorkerStoppingError(Exception):
    """The worker is to stop: the check is given back as it is."""


class Heartbeat:
    """While the block runs, for `longest` at most, a thread extends the lease; `progress` says how many requests are
    done, and of how many."""

    def __init__(
        self,
        queue: Queue,
        lease: Lease,
        duration: timedelta,
        *,
        progress: Callable[[], tuple[int, int]],
        brake: Brake,
        stop: StopSign,
        longest: timedelta = LONGEST,
    ) -> None:
        self._queue = queue
        self._lease = lease
        self._duration = duration
        self._progress = progress
        self._brake = brake
        self._stop = stop
        self._longest = longest
        self._ended = Event()
        self._thread = Thread(target=self._run, name=f"heartbeat {lease.check_id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        every = self._duration.total_seconds() / BEATS_A_LEASE
        beat_at = clock.monotonic() + every
        lost_at = clock.monotonic() + self._duration.total_seconds()
        give_up_at = clock.monotonic() + self._longest.total_seconds()
        while not self._ended.is_set():
            if self._stop.is_up:
                self._brake.pull(WorkerStoppingError())
                return
            # The end of the check is what must not wait: nobody works in its worker's place meanwhile.
            self._ended.wait(min(_POLL_S, every))
            now = clock.monotonic()
            if now < beat_at or self._ended.is_set():
                continue
            if now >= give_up_at:
                self._brake.pull(LeaseLostError(f"Check {self._lease.check_id} took too long.", remedy=_TOO_LONG))
                return
            beat_at = now + every
            try:
                self._extend()
                lost_at = now + self._duration.total_seconds()
            except LeaseLostError as lost:
                self._brake.pull(lost)
                return
            except StorageError as error:
                _log.warning("The lease of %s was not extended: %s", self._lease.check_id, error.message)
                if now >= lost_at:
                    self._brake.pull(error)
                    return

    def _extend(self) -> None:
        done, planned = self._progress()
        self._queue.extend(self._lease, clock.now(), self._duration, done=done, planned=planned)
