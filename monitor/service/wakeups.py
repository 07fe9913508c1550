"""Signals as something that can be waited for together with the children's output."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class _Asked:
    """Whether SIGTERM came while a service was starting."""

    to_stop = False


@contextmanager
def starting() -> Iterator[None]:
    """Before there is a supervisor: SIGTERM ends the block as an error does, and SIGHUP is ignored, since the
    configuration is about to be read."""
    _Asked.to_stop = False
    hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    end = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
        leave_if_asked()
    finally:
        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGHUP, hangup)


def leave_if_asked() -> None:
    """SystemExit where SIGTERM came since `starting` and went unheard: what a handler raises while an object is freed,
    Python drops."""
    if _Asked.to_stop:
        sys.exit()


def _leave(*_: object) -> None:
    _Asked.to_stop = True
    sys.exit()


class Wakeups:
    """While it is open, the signals that a supervisor needs interrupt nothing: they are read from `reader`, also those
    that waited until it was opened."""

    def __init__(self) -> None:
        self.reader, self._writer = socket.socketpair()
        self.reader.setblocking(False)
        self._writer.setblocking(False)
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in HANDLED:
            # Python tells the descriptor of signals with a handler only.
            self._before[number] = signal.signal(number, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        self.reader.close()
        self._writer.close()

    def read(self) -> list[int]:
        """The numbers of the signals that came since."""
        try:
            return list(self.reader.recv(4096))
        except BlockingIOError:
            return []
