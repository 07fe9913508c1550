"""Has charts drawn by a process of their own, which ends when nobody looks: what draws takes 95 MB."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Lock

from dashboards.chart import Chart, Theme, Width
from dashboards.evidence_chart import EvidenceChart
from monitor.errors import ServiceFailedError
from monitor.service.python import python

# Of one picture, and of the wait for those before it.
PATIENCE_S = 20.0
IDLE_S = 60.0
_ENDING_S = 5.0
_KEPT = 64


@dataclass(frozen=True, slots=True)
class _Process:
    """Killed or not, our end of the pipe is its life: it ends when that is closed, also by our own death."""

    popen: subprocess.Popen[bytes]
    pipe: Connection

    @classmethod
    def start(cls, idle_s: float) -> _Process:
        ours, theirs = Pipe()
        with theirs:
            command = python("dashboards.drawing_process", str(theirs.fileno()), str(idle_s))
            try:
                popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])  # noqa: S603 - ours
            except BaseException:
                ours.close()
                raise
        return cls(popen, ours)

    def end(self, patience_s: float = 0.0) -> int:
        """Its exit code; killed unless it ends by itself within `patience_s`."""
        self.pipe.close()
        try:
            return self.popen.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return self.popen.wait()


class Drawer:
    """One process at a time, started by the first picture that is asked for. Safe to share between threads."""

    def __init__(self, *, idle_s: float = IDLE_S, patience_s: float = PATIENCE_S) -> None:
        self._idle_s, self._patience_s = idle_s, patience_s
        self._lock = Lock()
        self._process: _Process | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.popen.pid

    def drawn(self, chart: Chart | EvidenceChart, theme: Theme, width: Width) -> str:
        """The chart as SVG text. Raises ServiceFailedError where the process ends or stands still; the next picture
        gets a new one."""
        if not self._lock.acquire(timeout=self._patience_s):
            raise _failed("too many others are before it")
        try:
            return self._asked((chart, theme, width))
        finally:
            self._lock.release()

    def _asked(self, wanted: tuple[Chart | EvidenceChart, Theme, Width]) -> str:
        process = self._running()
        try:
            process.pipe.send(wanted)
            if process.pipe.poll(self._patience_s):
                return str(process.pipe.recv())
        except (EOFError, OSError):
            code = self._end(_ENDING_S)
            # It was about to end, as nobody had asked for long.
            if code == 0:
                return self._asked(wanted)
            raise _failed(f"the process that draws ended with {code}") from None
        self._end()
        raise _failed(f"it took more than {self._patience_s:g} s")

    def _running(self) -> _Process:
        if self._process is not None and self._process.popen.poll() is not None:
            self._end()
        if self._process is None:
            self._process = _Process.start(self._idle_s)
        return self._process

    def _end(self, patience_s: float = 0.0) -> int | None:
        process, self._process = self._process, None
        return None if process is None else process.end(patience_s)

    def close(self) -> None:
        """End the process; another picture would start a new one."""
        with self._lock:
            self._end()


def _failed(why: str) -> ServiceFailedError:
    return ServiceFailedError(f"The chart was not drawn: {why}.", remedy="Load it again.")


DRAWER = Drawer()


@lru_cache(maxsize=_KEPT)
def drawn(chart: Chart | EvidenceChart, theme: Theme, width: Width) -> str:
    """The chart as SVG text, kept by its content. Raises ServiceFailedError."""
    return DRAWER.drawn(chart, theme, width)
