"""How many probes a second two workers ask, record and judge, at an endpoint that costs next to nothing."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fake_endpoint import fake_endpoint
from benchmarks.installation import Installation, configuration, wait_until
from benchmarks.processes import cpu_seconds
from benchmarks.servers import postgres, valkey

ENDPOINTS = 16
N = 40
# The first round enrols; the second makes every process judge for the first time.
WARM_UP = 2
ROUNDS = 4
# Nothing is due by itself.
_NEVER = "52w"


@dataclass(frozen=True)
class Setting:
    """How the two workers are run."""

    name: str
    pool: str
    concurrency: int


PRODUCTION = Setting("PostgreSQL and Valkey, 2 workers of 4 processes", "prefork", 4)
EMBEDDED = Setting("SQLite and Valkey, 2 workers of 4 threads", "threads", 4)


@dataclass(frozen=True)
class Recorded:
    """`samples` within `seconds`, and the checks that they belong to. `cpu`: seconds that the workers used for them."""

    samples: int
    checks: int
    seconds: float
    cpu: float


def recorded(setting: Setting) -> Recorded:
    """The rounds that warm the workers up do not count."""
    with ExitStack() as open_things:
        folder = Path(open_things.enter_context(tempfile.TemporaryDirectory(prefix="recording-")))
        base_url = open_things.enter_context(fake_endpoint())
        broker = open_things.enter_context(valkey())
        database = open_things.enter_context(_database(setting, folder))
        installation = Installation(folder, database, broker, configuration(base_url, ENDPOINTS, _NEVER))
        with installation.context() as context:
            ids = list(context.configured().endpoints)
        words = ("--pool", setting.pool, "--concurrency", str(setting.concurrency))
        workers = [open_things.enter_context(installation.worker(name, *words)).pid for name in ("one", "two")]
        for number in range(1, WARM_UP + 1):
            installation.ring(installation.enqueue(ids, f"warm-up {number}", N))
            wait_until(lambda: installation.succeeded() >= number * len(ids), "the first checks")  # noqa: B023
        start, before, cpu = time.perf_counter(), installation.samples(), sum(map(cpu_seconds, workers))
        for number in range(1, ROUNDS + 1):
            installation.ring(installation.enqueue(ids, str(number), N))
        wait_until(lambda: installation.succeeded() >= (WARM_UP + ROUNDS) * len(ids), "the checks")
        seconds = time.perf_counter() - start
        cpu = sum(map(cpu_seconds, workers)) - cpu
        return Recorded(installation.samples() - before, ROUNDS * len(ids), seconds, cpu)


@contextmanager
def _database(setting: Setting, folder: Path) -> Iterator[str]:
    if setting is EMBEDDED:
        yield f"sqlite:///{folder / 'monitor.db'}"
        return
    with postgres() as url:
        yield url
