"""Tells every process and thread of a worker to stop: a pipe, which a fork inherits and no crash can lock."""

from __future__ import annotations

import os
import weakref
from select import POLLIN, poll


class StopSign:
    """Make it before the pool forks. Once up it stays up. The pipe is closed with the last reference to the sign."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        weakref.finalize(self, _close, self._reader, self._writer)

    def put_up(self) -> None:
        # Nobody reads it, so everyone sees it.
        os.write(self._writer, b"x")

    def wait(self, seconds: float) -> bool:
        """Whether it was up before `seconds` had passed."""
        # Not select(), which fails in a process with more than 1,024 open files.
        reading = poll()
        reading.register(self._reader, POLLIN)
        return bool(reading.poll(max(0.0, seconds) * 1000))

    @property
    def is_up(self) -> bool:
        return self.wait(0.0)


def _close(*ends: int) -> None:
    for end in ends:
        os.close(end)
