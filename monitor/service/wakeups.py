"""Signals as something that can be waited for together with the children's output."""

from __future__ import annotations

import signal
import socket
from types import TracebackType
from typing import Any, Self

_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class Wakeups:
    """While it is open, the signals that a supervisor needs interrupt nothing: they are read from `reader`."""

    def __init__(self) -> None:
        self.reader, self._writer = socket.socketpair()
        self.reader.setblocking(False)
        self._writer.setblocking(False)
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in _HANDLED:
            # Python tells the descriptor of signals with a handler only.
            self._before[number] = signal.signal(number, lambda *_: None)
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
