"""R6: two beats and two tickers at once enter every slot once."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
import yaml
from pydantic import SecretStr

from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.settings import Settings
from monitor.store import Queue, Store
from monitor.store.config import ConfigObjects
from monitor.worker.bell import SilentBell
from monitor.worker.context import Context
from monitor.worker.names import EXECUTE
from monitor.worker.stop_sign import StopSign
from monitor.worker.tick import tick
from tests.forked import FORKED

pytestmark = pytest.mark.reliability

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
ENDPOINTS = 50
ROUNDS = 20
# The slot that an endpoint is in at the start, and one for every interval after it.
TICKS = [AT + timedelta(seconds=seconds) for seconds in range(0, 300 * (ROUNDS - 1) + 1, 150)]
TICKERS = 2


class Heard(SilentBell):
    def __init__(self) -> None:
        self.checks: list[str] = []

    def ring(self, task: str, *ids: str) -> None:
        if task == EXECUTE:
            self.checks += ids


def opened(folder: Path, url: str, bell: SilentBell) -> Context:
    return Context.open(Settings(data_dir=folder, database_url=SecretStr(url)), bell, StopSign())


def ticker(folder: Path, url: str, rung: multiprocessing.Queue[list[str]], begin: Barrier) -> None:
    bell = Heard()
    context = opened(folder, url, bell)
    begin.wait(60)
    for now in TICKS:
        tick(context, now)
    context.close()
    rung.put(bell.checks)


def test_two_tickers_enter_a_thousand_slots_once(database_url: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    configure(tmp_path, database_url)
    opened(data, database_url, SilentBell()).close()
    rung: multiprocessing.Queue[list[str]] = FORKED.Queue()
    begin = FORKED.Barrier(TICKERS)
    tickers = [FORKED.Process(target=ticker, args=(data, database_url, rung, begin)) for _ in range(TICKERS)]

    for process in tickers:
        process.start()
    bells = Counter(check_id for _ in tickers for check_id in rung.get(timeout=300))
    for process in tickers:
        process.join()

    assert [process.exitcode for process in tickers] == [0] * TICKERS
    with Store.open(database_url, at=AT) as store:
        queue = Queue(store.sessions)
        assert queue.backlog().count == ENDPOINTS * ROUNDS == 1000
        entered = [queue.entry(check_id) for check_id in bells]
    assert set(bells.values()) == {1}
    assert len({(entry.endpoint_id, entry.slot_at) for entry in entered}) == 1000


def configure(folder: Path, url: str) -> None:
    """Endpoints that are checked every five minutes, on time; nobody asks whether they are silent."""
    models = [{"model": f"m{number}", "name": f"m{number}"} for number in range(ENDPOINTS)]
    document = {
        "version": 1,
        "models": {entry["model"]: {} for entry in models},
        "providers": [{"slug": "x", "base_url": "https://api.acme.test/v1", "models": models}],
        "schedules": [{"id": "all", "every": "5m", "jitter": "0%", "catch_up": "once"}],
        "rules": [{"id": "no-data", "enabled": False}],
    }
    file = folder / "providers.yaml"
    file.write_text(yaml.safe_dump(document))
    with Store.open(url, at=AT) as store:
        ConfigObjects(store.sessions).apply(objects_of(load_config(file)), actor="test", at=AT)
