"""What `monitor up` needs of memory while it checks fifty endpoints, faster than it really would, and is looked at."""

from __future__ import annotations

import json
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
from urllib.request import urlopen

import yaml
from sqlalchemy import func, select

from benchmarks.fake_endpoint import fake_endpoint
from benchmarks.installation import ROOT, configuration, wait_until
from benchmarks.processes import family
from monitor import clock
from monitor.datadir import DataDir
from monitor.service.lock import running
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
    """The most memory that all processes but the engine had at one moment, what was done meanwhile, and the memory
    just after a chart was drawn, while the process that draws waits for the next."""

    processes: list[Process]
    seconds: float
    checks: int
    failed: int
    drawn: list[Process]

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
            page = f"/endpoints/{json.loads(_asked(folder, '/api/v1/endpoints'))['items'][0]['id']}"
            while time.monotonic() - start < seconds:
                most = max(most, _processes(pid), key=pss)
                # What somebody who has the pages open, and Prometheus, ask for.
                for path in ("/", page, "/alerts", "/metrics"):
                    _asked(folder, path)
                time.sleep(1.0)
            elapsed, checks, failed = (
                time.monotonic() - start,
                _ended(folder) - before,
                _ended(folder, RunStatus.FAILED),
            )
            _asked(folder, f"{page}/charts/logprobs_shift.svg")
            return Embedded(most, elapsed, checks, failed, _processes(pid))


def rss(processes: list[Process]) -> int:
    return sum(process.rss for process in processes)


def pss(processes: list[Process]) -> int:
    return sum(process.pss for process in processes)


def _asked(folder: Path, path: str) -> bytes:
    service = running(DataDir(folder / "data"))
    assert service is not None
    with urlopen(f"{service.url}{path}") as answer:
        body: bytes = answer.read()
    return body


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
    module = words[words.index("-m") + 1 :] if "-m" in words else [Path(words[0]).name]
    name = " ".join(module[:2]).partition(" {")[0]
    return Process(name.strip(), rss, pss)
