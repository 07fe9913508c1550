"""R4: a worker that stands still loses its checks, and writes nothing of them when it moves again."""

from __future__ import annotations

from pathlib import Path
from signal import Signals

import pytest
from sqlalchemy import text

from monitor import clock
from monitor.errors import StorageError
from monitor.store import Claimed, Queue, Store
from monitor.store.queue import claim
from tests.reliability.conftest import Measured
from tests.reliability.service import N, Service, wait_until
from tests.reliability.slow import slow_endpoint

pytestmark = pytest.mark.reliability


def test_what_a_stopped_worker_held_is_made_by_another_and_left_alone(service: Service, measured: Measured) -> None:
    with slow_endpoint() as endpoint:
        endpoint_id = service.configure(endpoint.base_url)
        workers = [service.start_worker(name=name) for name in ("one", "two")]
        (check_id,) = service.enqueue(endpoint_id, "held")
        wait_until(lambda: len(endpoint.received) >= 8, "the first answers")
        stopped = service.owner(check_id)

        with service.store.sessions.write() as session:
            # SQLite has one writer: one that stood still in its turn would stop all. The turn begins with a statement.
            session.execute(text("SELECT 1"))
            stopped.halt()
        recovery = service.wait_for(check_id)
        ended = service.entry(check_id)
        stopped.tell_group(Signals.SIGCONT)
        wait_until(lambda: f"{check_id} was left at attempt 1" in stopped.log.read_text(), "its writes are refused")

        assert service.entry(check_id) == ended
        service.assert_whole(check_id, attempts=2)
        assert len(endpoint.received) <= N + 4
        (later,) = [one for one in workers if one is not stopped]
        later.kill()
        (next_id,) = service.enqueue(endpoint_id, "next")
        service.wait_for(next_id)
        service.assert_whole(next_id, attempts=1)
    measured(
        fault="worker stopped (SIGSTOP) in the middle of a check, then continued",
        times=1,
        lost=0,
        doubled=0,
        recovery_s=recovery,
        aim="taken over within 90 s; writes of the old owner refused",
    )


def test_a_worker_that_stands_still_in_a_transaction_holds_nobody_up_for_long(
    tmp_path: Path, postgres_url: str, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("monitor.store.session.IDLE_WRITER_S", 1)
    service = Service(tmp_path, postgres_url, valkey_url)
    (check_id,) = service.enqueue(service.configure("http://127.0.0.1:9/v1"), "held", ring=False)
    other = Store.open(postgres_url, at=clock.now())

    def stand_still() -> None:
        with service.store.sessions.write() as session:
            assert claim(session, check_id, "stopped", clock.now()) is not None
            taken.append(Queue(other.sessions).claim(check_id, "another", clock.now()))

    taken: list[Claimed | None] = []
    with pytest.raises(StorageError):
        stand_still()

    assert taken != [None]
    assert service.entry(check_id).lease_owner == "another"
    other.close()
    service.close()
