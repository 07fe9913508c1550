"""What a page costs with few endpoints and with many, a month of checks behind each. Prints a Markdown table.

    .venv/bin/python -m benchmarks.pages [--postgres] [--endpoints 50 1000] [--times 30]

The store is filled by its own functions, and the pages are asked through the application, without a network. CPU is
that of the whole process: with a server of its own, PostgreSQL's comes on top.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import yaml
from fastapi.testclient import TestClient

from benchmarks.servers import postgres
from dashboards.app import set_aside
from dashboards.site import create_site
from monitor import clock
from monitor.access.keys import SigningKey
from monitor.api import ApiState
from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.store import EndpointIdentity, MetricPoint, Store
from monitor.store.alert_records import AlertFilter
from monitor.store.alerts import Alerts
from monitor.store.config import ConfigObjects
from monitor.store.keyset import Window
from monitor.store.rollups import add_to_rollups
from monitor.worker.bell import SilentBell
from tests.dashboards.material import Found, drifting, failing, steady, story, work
from tests.dashboards.statements import statements

SIZES = (50, 1000)
DAYS = 30
MODELS = 25
# Of ten endpoints one has drifted, of 25 one cannot be asked.
_ONE_DRIFTS, _DRIFTS = 10, 1
_ONE_FAILS, _FAILS = 25, 2
_LAST_CHECKS = 5


@dataclass(frozen=True)
class Asked:
    """One page, asked several times: seconds on the clock and of CPU, its bytes plain and packed, and how many
    statements the database was sent for it."""

    seconds: list[float]
    cpu: list[float]
    size: int
    packed: int
    statements: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL in place of SQLite")
    parser.add_argument("--endpoints", nargs="+", type=int, default=SIZES, help="how many there are")
    parser.add_argument("--times", type=int, default=30, help="how often each page is asked")
    options = parser.parse_args()
    print(f"Machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}.\n")
    print("| page | endpoints | p50 | p95 | CPU p50 | CPU p95 | statements | size | packed |\n|" + " --- |" * 9)
    for size in options.endpoints:
        with tempfile.TemporaryDirectory(prefix="pages-") as name, _database(Path(name), options.postgres) as url:
            for line in _measured(Path(name), url, size, options.times):
                print(line, flush=True)


@contextmanager
def _database(folder: Path, server: bool) -> Iterator[str]:
    if server:
        with postgres() as url:
            yield url
    else:
        yield f"sqlite:///{folder / 'monitor.db'}"


def _measured(folder: Path, url: str, size: int, times: int) -> Iterator[str]:
    with Store.open(url, at=clock.now()) as store:
        fill(store, folder, size)
        site = create_site(ApiState(store, SigningKey(b"k" * 32), SilentBell()))
        with TestClient(site, base_url="http://localhost") as client:
            client.get("/")
            set_aside()
            for name, path in _paths(store).items():
                yield _line(name, size, asked(client, path, times))


def fill(store: Store, folder: Path, size: int) -> None:
    """A matrix of `size` endpoints, each checked once a day for a month. Those that drifted have all their checks, the
    others their last ones, and before these the sums of their days, which is all that a page reads of them."""
    now, rng = clock.now(), random.Random(7)
    slots = [now - timedelta(minutes=5, days=day) for day in reversed(range(DAYS))]
    file = folder / "providers.yaml"
    file.write_text(yaml.safe_dump(_configuration(size)))
    ConfigObjects(store.sessions).apply(objects_of(load_config(file)), actor="benchmark", at=slots[0])
    for number in range(size):
        provider, model = _place(number, size)
        checks = _checks(number, slots, rng)
        kept = 0 if number % _ONE_DRIFTS == _DRIFTS else len(checks) - _LAST_CHECKS
        endpoint = story(store, EndpointIdentity(provider, "https://api.test/v1", model, model), checks[kept:])
        _sum_up(store, endpoint.id, checks[:kept])
    work(store, now)


def _checks(number: int, slots: list[datetime], rng: random.Random) -> list[Found]:
    if number % _ONE_DRIFTS == _DRIFTS:
        return drifting(slots, rng)
    return failing(slots, rng) if number % _ONE_FAILS == _FAILS else steady(slots, rng)


def _sum_up(store: Store, endpoint_id: str, checks: Sequence[Found]) -> None:
    with store.sessions.write() as session:
        for found in checks:
            values = {"fidelity": found.fidelity, "logprobs_shift": found.shift}
            points = [MetricPoint(metric, value, 20) for metric, value in values.items() if value is not None]
            add_to_rollups(session, endpoint_id, found.at, points)


def _place(number: int, size: int) -> tuple[str, str]:
    models = min(MODELS, max(1, size // 10))
    return f"provider-{number // models:02}", f"model-{number % models:02}"


def _configuration(size: int) -> dict[str, Any]:
    places = [_place(number, size) for number in range(size)]
    providers = sorted({provider for provider, _ in places})
    return {
        "version": 1,
        "defaults": {"every": "1d"},
        "models": {model: {} for _, model in places},
        "providers": [
            {
                "slug": provider,
                "base_url": "https://api.test/v1",
                "models": [{"model": model, "name": model} for of, model in places if of == provider],
            }
            for provider in providers
        ],
    }


def _paths(store: Store) -> dict[str, str]:
    alert = Alerts(store.sessions).list(Window(1), AlertFilter(rule="drift", open=True)).items[0]
    return {
        "overview": "/",
        "overview, problems": "/?problems=1",
        "endpoint": f"/endpoints/{alert.endpoint_id}",
        "alerts": "/alerts",
        "alert": f"/alerts/{alert.id}",
    }


def asked(client: TestClient, path: str, times: int) -> Asked:
    with statements() as sent:
        first = client.get(path)
    assert first.status_code == 200, first.text
    seconds, cpu = [], []
    for _ in range(times):
        start, spent = time.perf_counter(), time.process_time()
        client.get(path)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - spent)
    return Asked(seconds, cpu, len(first.content), len(gzip.compress(first.content)), len(sent))


def _line(name: str, size: int, found: Asked) -> str:
    numbers = (
        f"{value * 1e3:.0f} ms"
        for measured in (found.seconds, found.cpu)
        for value in (median(measured), quantiles(measured, n=20)[-1])
    )
    sizes = (f"{value / 1e3:.0f} kB" for value in (found.size, found.packed))
    return "| " + " | ".join(map(str, (name, size, *numbers, found.statements, *sizes))) + " |"


if __name__ == "__main__":
    main()
