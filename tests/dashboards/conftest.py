"""A filled installation, made once and copied for each test, and browsers without JavaScript in front of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from monitor import clock
from monitor.store import Store
from tests.dashboards.material import Installation, filled, work
from tests.dashboards.visitor import Visitors


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Installation]:
    folder = tmp_path_factory.mktemp("installation")
    with Store.open(folder / "monitor.db", at=clock.now()) as store:
        return folder / "monitor.db", filled(store, folder, clock.now())


@pytest.fixture
def installation(template: tuple[Path, Installation], tmp_path: Path) -> Iterator[Installation]:
    path, made = template
    shutil.copy(path, tmp_path / "monitor.db")
    with Store.open(tmp_path / "monitor.db", at=clock.now()) as store:
        work(store, clock.now())
        yield replace(made, store=store)


@pytest.fixture
def visitors(installation: Installation) -> Visitors:
    return Visitors(installation.store)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands: a chart is the same one for the minute it is asked in, and a test may begin at its end."""
    at = clock.now()
    monkeypatch.setattr(clock, "now", lambda: at)


@pytest.fixture
def on_postgres(postgres_url: str) -> Iterator[Visitors]:
    with Store.open(postgres_url, at=clock.now()) as store:
        yield Visitors(store)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Visitors]:
    with Store.open(tmp_path / "empty.db", at=clock.now()) as store:
        yield Visitors(store)
