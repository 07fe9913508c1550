"""Ties a process to the life of its parent: whoever kills the supervisor kills its children with it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def tether() -> Callable[[], None]:
    """What a new process has to call between fork and exec to be killed when the calling thread ends.

    Without effect where the system is not Linux.
    """
    parent = os.getpid()
    # Loaded here: after a fork nothing may be that takes a lock.
    prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None

    def tie() -> None:
        if prctl is None:
            return
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the tie held
            os._exit(1)

    return tie
