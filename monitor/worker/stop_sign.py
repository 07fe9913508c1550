"""Tells every process and thread of a worker to stop: a pipe, which a fork inherits and no crash can lock."""

from __future__ import annotations

import os
from select import select


class StopSign:
    """Make it before the pool forks. Once up it stays up."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()

    def put_up(self) -> None:
        # Nobody reads it, so everyone sees it.
        os.write(self._writer, b"x")

    def wait(self, seconds: float) -> bool:
        """Whether it was up before `seconds` had passed."""
        return bool(select([self._reader], [], [], max(0.0, seconds))[0])

    @property
    def is_up(self) -> bool:
        return self.wait(0.0)
