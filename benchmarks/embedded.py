"""What `monitor up` needs of memory while it checks fifty endpoints, on a schedule faster than the real one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from sqlalchemy import func, select

from benchmarks.fake_endpoint import fake_endpoint
from benchmarks.installation import ROOT, configuration, wait_until
from benchmarks.processes import family
from monitor import clock
from monitor.store import RunStatus, Store
from monitor.store.tables import EndpointCheck

ENDPOINTS = 50
REAL_EVERY_S = 300
# The engine is asked for by no endpoint here, and would have a process of its own.
ENGINE = "reference_engine"


@dataclass(frozen=True)
class Process:
    """`rss` and `pss` in bytes; PSS divides what processes share among them."""

    name: str
    rss: int
    pss: int


@dataclass(frozen=True)
class Embedded:
    """The most memory that all processes but the engine had at one moment, and what was done meanwhile."""

    processes: list[Process]
    seconds: float
    checks: int
    failed: int

    @property
    def rss(self) -> int:
        return sum(process.rss for process in self.processes)

    @property
    def pss(self) -> int:
        return sum(process.pss for process in self.processes)

    @property
    def faster(self) -> float:
        """How much faster than the real schedule it went."""
        return self.checks / ENDPOINTS * REAL_EVERY_S / self.seconds


def embedded(seconds: float, every: str = "60s") -> Embedded:
    with tempfile.TemporaryDirectory(prefix="embedded-") as name, fake_endpoint() as base_url:
        folder = Path(name)
        (folder / "providers.yaml").write_text(yaml.safe_dump(configuration(base_url, ENDPOINTS, every)))
        with _up(folder) as pid:
            wait_until(lambda: _ended(folder) >= ENDPOINTS, "the first check of every endpoint", look_every=1.0)
            before, start, most = _ended(folder), time.monotonic(), list[Process]()
            while time.monotonic() - start < seconds:
                now = _processes(pid)
                if sum(process.rss for process in now) > sum(process.rss for process in most):
                    most = now
                time.sleep(1.0)
            elapsed = time.monotonic() - start
            return Embedded(most, elapsed, _ended(folder) - before, _ended(folder, RunStatus.FAILED))


@contextmanager
def _up(folder: Path) -> Iterator[int]:
    variables = {"MONITOR_DATA_DIR": str(folder / "data"), "MONITOR_CONFIG": str(folder / "providers.yaml")}
    with (folder / "up.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "monitor", "up", "--port", "0"],
            env={**os.environ, **variables},
            cwd=ROOT,
            stdout=log,
            stderr=log,
        )
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _ended(folder: Path, *statuses: RunStatus) -> int:
    database = folder / "data" / "monitor.db"
    if not database.exists():
        return 0
    wanted = statuses or (RunStatus.SUCCEEDED, RunStatus.PARTIAL)
    with Store.open(database, at=clock.now()) as store, store.sessions.read() as session:
        return session.scalars(select(func.count()).where(EndpointCheck.status.in_(wanted))).one()


def _processes(root: int) -> list[Process]:
    """The supervisor and everything below it."""
    found = map(_process, sorted(family(root)))
    return [process for process in found if process is not None and ENGINE not in process.name]


def _process(pid: int) -> Process | None:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    except (OSError, ValueError):
        return None  # it has ended
    rss, pss = (int(fields[name].split()[0]) * 1024 for name in ("Rss", "Pss"))
    name = " ".join(words[2:4]) if "-m" in words else Path(words[0]).name
    return Process(name.strip(), rss, pss)
