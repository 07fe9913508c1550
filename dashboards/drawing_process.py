"""The process that draws: `DESCRIPTOR IDLE_S`. It answers what comes through its pipe, and ends when nothing does."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection


def draw(pipe: Connection, idle_s: float) -> None:
    """Until nothing comes for `idle_s`, or the other end is gone."""
    while pipe.poll(idle_s):
        wanted = pipe.recv()
        # Here, as a chart that nobody waits for any more needs none of it.
        from dashboards.drawing import drawn

        pipe.send(drawn(*wanted))


if __name__ == "__main__":
    # A terminal's Ctrl-C is for the process that asks, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Connection(int(sys.argv[1])) as pipe, suppress(EOFError, ConnectionError):
        draw(pipe, float(sys.argv[2]))
