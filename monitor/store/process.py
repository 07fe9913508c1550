"""Who is at work on a run: this host's process, told apart from a later one with the same number."""

from __future__ import annotations

import os
import socket
from pathlib import Path

# Of a process that nobody has waited for yet.
_ENDED = "ended"


def this_process() -> str:
    """`HOST:PID:START`; START is the kernel's start time of the process, empty where the system does not tell."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_start_time(pid) or ''}"


def is_gone(owner: str) -> bool:
    """Whether the process `this_process` named has surely ended. One of another host is never surely gone."""
    host, pid, started = owner.rsplit(":", 2)
    if host != socket.gethostname():
        return False
    if not _is_running(int(pid)):
        return True
    now = _start_time(int(pid))
    return now == _ENDED or (bool(started) and now is not None and now != started)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _start_time(pid: int) -> str | None:
    """Clock ticks from boot to the start of a process (proc(5), field 22); None where the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name, in brackets, may hold spaces and brackets itself.
    state, *fields = stat.rpartition(")")[2].split()
    return _ENDED if state in ("Z", "X") else fields[18]
