"""R5: the database goes away in the middle of a check; workers wait for it, and the check is whole in the end."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from monitor.store import RunStatus
from tests.reliability.conftest import Measured
from tests.reliability.service import Service, wait_until
from tests.reliability.slow import slow_endpoint
from tests.servers.postgres import Postgres

pytestmark = pytest.mark.reliability

# Longer than the lease, and for SQLite longer than a writer waits for a lock.
OUTAGE_S = 7.0


@pytest.fixture
def postgres_service(tmp_path: Path, own_postgres: Postgres, valkey_url: str) -> Iterator[Service]:
    made = Service(tmp_path, own_postgres.create_database("r05"), valkey_url)
    yield made
    made.close()


def survive(service: Service, outage: Callable[[], None], fault: str, measured: Measured) -> None:
    with slow_endpoint() as endpoint:
        endpoint_id = service.configure(endpoint.base_url)
        service.start_worker()
        (check_id,) = service.enqueue(endpoint_id, "interrupted")
        wait_until(lambda: len(endpoint.received) >= 8, "the first answers")

        outage()
        recovery = service.wait_for(check_id)

        service.assert_whole(check_id, attempts=service.entry(check_id).attempt)
        (later,) = service.enqueue(endpoint_id, "later")
        service.wait_for(later)
        assert service.entry(later).status is RunStatus.SUCCEEDED
    measured(fault=fault, times=1, lost=0, doubled=0, recovery_s=recovery, aim="15 s")


def test_a_postgres_that_was_stopped(postgres_service: Service, own_postgres: Postgres, measured: Measured) -> None:
    def outage() -> None:
        own_postgres.stop()
        time.sleep(OUTAGE_S)
        own_postgres.start()

    survive(postgres_service, outage, "PostgreSQL stopped in the middle of a check", measured)


def test_a_sqlite_file_that_another_writer_locks(sqlite_service: Service, measured: Measured) -> None:
    def outage() -> None:
        file = sqlite_service.database.removeprefix("sqlite:///")
        with closing(sqlite3.connect(file, isolation_level=None, timeout=30.0)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            time.sleep(OUTAGE_S)

    survive(sqlite_service, outage, "SQLite file locked by another writer", measured)
