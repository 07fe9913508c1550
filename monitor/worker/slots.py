"""Keeps checks from taking every thread or process of a worker: no tick and no notice waits until one ends."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from threading import Lock
from typing import Self

from monitor import clock
from monitor.store.queue_turns import first_in_line
from monitor.worker.context import Context
from monitor.worker.execute import execute
from monitor.worker.names import EVAL_QUEUE, EXECUTE, PROBE_QUEUE

# One for what is done by the clock, one for notices.
_KEPT_BACK = 2
# One for the slot that is free now, one where another came free at the same time and both rang for the same check.
_RUNG = 2


class Slots:
    """At most `count` checks at a time over all threads and processes of a worker. Make it before the pool forks.

    A process holds a slot by a lock on a byte of a file, which the system takes from it when it dies.
    """

    def __init__(self, count: int) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - open as long as the worker runs
        self._count = count
        self._lock = Lock()
        self._held: set[int] = set()

    @classmethod
    def beside_others(cls, concurrency: int, queues: Sequence[str]) -> Self | None:
        """None where a worker has nothing else to do than checks."""
        return cls(max(1, concurrency - _KEPT_BACK)) if set(queues) - {PROBE_QUEUE, EVAL_QUEUE} else None

    @contextmanager
    def one(self) -> Iterator[bool]:
        """Whether one was free: it is held while the block runs."""
        slot = self._take()
        try:
            yield slot is not None
        finally:
            if slot is not None:
                self._give(slot)

    def _take(self) -> int | None:
        with self._lock:
            for slot in range(self._count):
                # The file's locks tell processes apart, not threads.
                if slot not in self._held and self._locked(slot):
                    self._held.add(slot)
                    return slot
        return None

    def _locked(self, slot: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
        except OSError:
            return False
        return True

    def _give(self, slot: int) -> None:
        with self._lock:
            self._held.discard(slot)
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, slot)


def execute_in_slot(slots: Slots, context: Context, check_id: str) -> None:
    """Make a check where a slot is free. Where none is, it is rung for when a check ends, or by the sweeper."""
    with slots.one() as free:
        made = free and execute(context, check_id)
    if not made:
        return
    with context.store.sessions.read() as session:
        waiting = first_in_line(session, _RUNG, clock.now())
    if waiting:
        context.bell.ring(EXECUTE, *waiting)
