"""How the service's own work grows with the number of endpoints: a tick, a check, a look at the outbox."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.fake_endpoint import fake_endpoint
from benchmarks.installation import Installation, configuration
from monitor import clock
from monitor.worker.execute import execute
from monitor.worker.notify import fan_out
from monitor.worker.tick import tick

SIZES = (10, 100, 1000)
N = 20
_REPEATS = 5
_EVERY, _LATER = "1h", timedelta(hours=2)


@dataclass(frozen=True)
class Grown:
    """CPU seconds of one process. `start`: the first look at a configuration. `due`: a tick that enters a check for
    every endpoint; `idle`: one that enters none. `check`: one check from claim to end; `outbox`: a fan-out of
    nothing."""

    endpoints: int
    start: float
    due: float
    idle: float
    check: float
    outbox: float


def grown(endpoints: int) -> Grown:
    with tempfile.TemporaryDirectory(prefix="growth-") as name, fake_endpoint() as base_url:
        folder = Path(name)
        document = configuration(base_url, endpoints, _EVERY)
        installation = Installation(folder, f"sqlite:///{folder / 'monitor.db'}", None, document)
        with installation.context() as context:
            now = clock.now()
            start = _seconds(context.configured)
            tick(context, now)
            due = median(_seconds(partial(tick, context, now + at * _LATER)) for at in range(1, 1 + _REPEATS))
            later = now + _REPEATS * _LATER
            idle = median(_seconds(partial(tick, context, later)) for _ in range(_REPEATS))
            ids = list(context.configured().endpoints)[:_REPEATS]
            for check_id in installation.enqueue(ids, "first", N):
                execute(context, check_id)
            checks = installation.enqueue(ids, "second", N)
            check = median(_seconds(partial(execute, context, one)) for one in checks)
            fan_out(context, clock.now())
            outbox = median(_seconds(lambda: fan_out(context, clock.now())) for _ in range(_REPEATS))
    return Grown(endpoints, start, due, idle, check, outbox)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
