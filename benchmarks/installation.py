"""An installation for a benchmark: endpoints of one fake provider each, and workers as users start them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from pydantic import SecretStr
from sqlalchemy import func, select

from monitor import clock
from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.settings import Settings
from monitor.store import CheckRequest, Queue, RunStatus, Store, Trigger
from monitor.store.config import ConfigObjects
from monitor.store.tables import EndpointCheck, Sample
from monitor.worker.app import make_app
from monitor.worker.bell import CeleryBell, SilentBell
from monitor.worker.context import Context
from monitor.worker.names import EXECUTE
from monitor.worker.stop_sign import StopSign

ROOT = Path(__file__).resolve().parent.parent
_HANG_GUARD_S = 600.0


def configuration(base_url: str, endpoints: int, every: str) -> dict[str, Any]:
    return {
        "version": 1,
        "defaults": {"every": every, "max_concurrency": 8},
        "models": {"lark": {}},
        "providers": [
            {
                "slug": f"p{number}",
                "base_url": base_url,
                "allow_private": True,
                "models": [{"model": "lark", "name": "lark"}],
            }
            for number in range(endpoints)
        ],
    }


class Installation:
    """One database with a configuration applied; nothing runs yet."""

    def __init__(self, folder: Path, database: str, broker: str | None, document: dict[str, Any]) -> None:
        self._folder = folder
        data = folder / "data"
        data.mkdir(mode=0o700)
        broker_url = None if broker is None else SecretStr(broker)
        self.settings = Settings(data_dir=data, database_url=SecretStr(database), broker_url=broker_url)
        self.environment = {"MONITOR_DATA_DIR": str(data), "MONITOR_DATABASE_URL": database}
        if broker is not None:
            self.environment["MONITOR_BROKER_URL"] = broker
        self.store = Store.open(database, at=clock.now())
        file = folder / "providers.yaml"
        file.write_text(yaml.safe_dump(document))
        ConfigObjects(self.store.sessions).apply(objects_of(load_config(file)), actor="benchmark", at=clock.now())

    @contextmanager
    def context(self) -> Iterator[Context]:
        """A worker's context in this process."""
        context = Context.open(self.settings, SilentBell(), StopSign())
        try:
            yield context
        finally:
            context.close()

    def enqueue(self, endpoint_ids: list[str], key: str, n: int, probes: tuple[str, ...] = ("logprobs",)) -> list[str]:
        now = clock.now()
        options = {"probes": list(probes), "n": n}
        requests = [CheckRequest(f"{key}:{one}", one, Trigger.API, now, options) for one in endpoint_ids]
        return [entry.id for entry in Queue(self.store.sessions).enqueue(requests, now)]

    def ring(self, check_ids: list[str]) -> None:
        CeleryBell(make_app(self.settings)).ring(EXECUTE, *check_ids)

    def samples(self) -> int:
        with self.store.sessions.read() as session:
            return session.scalars(select(func.count()).select_from(Sample)).one()

    def succeeded(self) -> int:
        with self.store.sessions.read() as session:
            ended = select(func.count()).where(EndpointCheck.status == RunStatus.SUCCEEDED)
            return session.scalars(ended).one()

    @contextmanager
    def worker(self, name: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """`monitor worker`, as a user starts it."""
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "monitor", "worker", "--name", name, *words],
                env={**os.environ, **self.environment},
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )
        try:
            yield process
        finally:
            process.terminate()
            process.wait()

    def log_of(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(errors="replace")


def wait_until(condition: Callable[[], bool], what: str, look_every: float = 0.05) -> None:
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > _HANG_GUARD_S:
            sys.exit(f"hangs: {what}")
        time.sleep(look_every)
