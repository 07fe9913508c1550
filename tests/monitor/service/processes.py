"""The processes of a service under test, found by a mark in their environment: also those that lost their parent."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

HANG_GUARD_S = 90.0


def wait_until(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + HANG_GUARD_S
    while not condition():
        assert time.monotonic() < until, f"hangs: {what}"
        time.sleep(0.05)


def processes_with(mark: str) -> dict[int, list[str]]:
    """The command lines of all living processes whose environment or command line holds `mark`, by process id.

    Valkey writes its title over its environment; its socket's path is in it.
    """
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes()
                if mark.encode() in (folder / "environ").read_bytes() + words:
                    found[int(folder.name)] = words.decode().split("\0")[:-1]
    return found


def children_of(parent: int) -> list[int]:
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(pid) for pid in listed.split()]
