"""`monitor web`, `worker` and `beat` as processes of their own, over PostgreSQL and a broker given by URL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from monitor import clock
from monitor.service.sockets import listening
from monitor.store import Beats, Store
from monitor.store.beats import STOPPED
from tests.monitor.service.processes import HANG_GUARD_S, wait_until

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.timeout(180)


class Production:
    def __init__(self, folder: Path, database_url: str, broker_url: str) -> None:
        self.log = folder / "log"
        self.environment = {
            **os.environ,
            "MONITOR_DATA_DIR": str(folder / "data"),
            "MONITOR_DATABASE_URL": database_url,
            "MONITOR_BROKER_URL": broker_url,
            "MONITOR_TICK_SECONDS": "0.5",
            "MONITOR_CANARY_SECONDS": "0.5",
            "MONITOR_LOG_FORMAT": "json",
            "PYTHONWARNINGS": "ignore",
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        with listening("127.0.0.1", 0) as listener:
            self.port = listener.getsockname()[1]
            self.start("web", "--fd", str(listener.fileno()), sockets=(listener.fileno(),))

    def start(self, *words: str, sockets: tuple[int, ...] = ()) -> None:
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "monitor", *words]
            self.processes.append(
                subprocess.Popen(
                    command, cwd=ROOT, env=self.environment, stdout=log, stderr=log, pass_fds=sockets, process_group=0
                )
            )

    def ready(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=HANG_GUARD_S)
        try:
            connection.request("GET", "/readyz?deep=1")
            return connection.getresponse().status == 200
        finally:
            connection.close()


@pytest.fixture
def production(tmp_path: Path, postgres_url: str, valkey_url: str) -> Iterator[Production]:
    service = Production(tmp_path, postgres_url, valkey_url)
    yield service
    for process in service.processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_it_gets_ready_and_every_process_stops_when_asked(production: Production, postgres_url: str) -> None:
    production.start("worker", "--concurrency", "2")
    production.start("beat")
    wait_until(production.ready, production.log.read_text())

    for process in production.processes:
        process.send_signal(signal.SIGTERM)

    web, worker, beat = (process.wait(HANG_GUARD_S) for process in production.processes)
    assert (worker, beat) == (0, 0)
    # uvicorn ends as the signal would have ended it.
    assert web in (0, -signal.SIGTERM)
    with Store.open(postgres_url, at=clock.now()) as store:
        assert {beat.kind for beat in Beats(store.sessions).all()} == {STOPPED}
    for process in production.processes:
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
