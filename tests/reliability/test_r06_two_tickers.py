"""R6: two beats and two tickers at once enter every slot once."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Barrier

import pytest

from monitor.schedule import CatchUp, Interval, due, phase_of
from monitor.store import CheckRequest, EndpointIdentity, Queue, Store, Trigger

pytestmark = pytest.mark.reliability

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
EVERY = timedelta(minutes=5)
ENDPOINTS = 50
ROUNDS = 20
# The slot that an endpoint is in at the start, and one for every interval after it.
TICKS = [AT + timedelta(seconds=seconds) for seconds in range(0, 300 * (ROUNDS - 1) + 1, 100)]
TICKERS = 2


def tick(store: Store, endpoint_ids: list[str], now: datetime) -> list[str]:
    """Enter what is due; the ids of what was new, whose bells this ticker rings."""
    queue = Queue(store.sessions)
    last = queue.last_slots("default", endpoint_ids, now)
    slots = {
        endpoint_id: due(
            Interval(EVERY, phase_of(endpoint_id, EVERY)), last.get(endpoint_id), now, CatchUp.ONCE, key=endpoint_id
        )
        for endpoint_id in endpoint_ids
    }
    requests = [
        CheckRequest(
            f"default:{endpoint_id}:{slot.isoformat()}", endpoint_id, Trigger.SCHEDULE, slot, schedule="default"
        )
        for endpoint_id, slot in slots.items()
        if slot is not None
    ]
    return [entry.id for entry in queue.enqueue(requests, now)]


def ticker(url: str, endpoint_ids: list[str], rung: multiprocessing.Queue[list[str]], begin: Barrier) -> None:
    mine: list[str] = []
    with Store.open(url, at=AT) as store:
        begin.wait(60)
        for now in TICKS:
            mine += tick(store, endpoint_ids, now)
    rung.put(mine)


def test_two_tickers_enter_a_thousand_slots_once(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        ids = [store.ensure_endpoint(identity(number), at=AT).id for number in range(ENDPOINTS)]
    context = multiprocessing.get_context("spawn")
    rung: multiprocessing.Queue[list[str]] = context.Queue()
    begin = context.Barrier(TICKERS)
    tickers = [context.Process(target=ticker, args=(database_url, ids, rung, begin)) for _ in range(TICKERS)]

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


def identity(number: int) -> EndpointIdentity:
    return EndpointIdentity(f"provider-{number}", "https://api.acme.test/v1", "smol", "smol")
