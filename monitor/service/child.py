"""One process of the service: how it is started, watched, and ended with all that it started itself."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from monitor.service.tether import tether

_PIECE = 64 * 1024


def at_once() -> bool:
    """For a child that nobody has to wait for."""
    return True


@dataclass(frozen=True, slots=True)
class Child:
    """What to start. Children of a lower `stage` are `ready` before those of a higher one are started, and are stopped
    after them. `environment` is all that it gets; `sockets` are the descriptors it inherits."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    stage: int = 1
    ready: Callable[[], bool] = at_once
    sockets: tuple[int, ...] = ()


class Process:
    """A child that runs: in a process group of its own, so that Ctrl-C reaches the supervisor alone, and killed with
    its parent. `pipe` is where everything that it prints can be read. Raises OSError or SubprocessError where it cannot
    be started."""

    def __init__(self, child: Child) -> None:
        self.pipe, writer = os.pipe()
        os.set_blocking(self.pipe, False)
        try:
            self._popen = subprocess.Popen(  # noqa: S603 - our own programs
                child.command,
                env=child.environment,
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=writer,
                pass_fds=child.sockets,
                process_group=0,
                preexec_fn=tether(),
            )
        except BaseException:
            os.close(self.pipe)
            raise
        finally:
            os.close(writer)

    def ended(self) -> bool:
        # Looked at without being reaped: until then its number, which names its group, is nobody else's.
        return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def read(self) -> bytes | None:
        """What it printed since; empty where nobody can print any more, None where nothing is there yet."""
        try:
            return os.read(self.pipe, _PIECE)
        except BlockingIOError:
            return None

    def ask_to_end(self) -> None:
        self._popen.terminate()

    def kill(self) -> str:
        """End the whole group at once; how the child itself ended."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        code = self._popen.wait()
        return f"exit code {code}" if code >= 0 else f"signal {-code}"

    def close(self) -> None:
        os.close(self.pipe)
