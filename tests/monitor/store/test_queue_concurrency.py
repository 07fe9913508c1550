from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.queues import SimpleQueue
from typing import Any

import pytest

from monitor.errors import LeaseLostError
from monitor.store import Claimed, EndpointRecord, Limits, Queue, RunStatus, Store
from monitor.store.queue import LEASE
from tests.forked import FORKED
from tests.monitor.store.material import AT, sample, spent, start
from tests.monitor.store.queued import SECOND, claim_all, enqueued, enqueued_apart, reserve, take_tokens

PROCESSES = 3
THREADS = 8
CHECKS = 40


def said_by_processes(work: Callable[..., Any], each: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What a function returns in processes that run it at once."""
    said = FORKED.SimpleQueue()
    running = [FORKED.Process(target=_say, args=(said, work, arguments)) for arguments in each]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * len(running)
    return [said.get() for _ in running]


def _say(said: SimpleQueue[Any], work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    said.put(work(*arguments))


def test_of_many_processes_one_wins_each_check(database_url: str, store: Store) -> None:
    checks = [check.id for check in enqueued_apart(store, CHECKS)]

    won = said_by_processes(claim_all, [(database_url, f"worker {n}", *checks) for n in range(PROCESSES)])

    assert Counter(itertools.chain(*won)) == Counter(checks)


def test_of_many_threads_and_bells_one_wins_each_check(store: Store) -> None:
    queue = Queue(store.sessions)
    checks = [check.id for check in enqueued_apart(store, CHECKS)]
    bells = [check_id for _ in range(3) for check_id in checks]

    with ThreadPoolExecutor(THREADS) as pool:
        answers = pool.map(lambda check_id: queue.claim(check_id, "worker", AT), bells)
        won = [claimed.lease.check_id for claimed in answers if claimed is not None]

    assert Counter(won) == Counter(checks)
    assert {queue.entry(check_id).attempt for check_id in checks} == {1}


def test_of_many_threads_one_begins_at_an_endpoint(store: Store, endpoint: EndpointRecord) -> None:
    queue = Queue(store.sessions)
    checks = [enqueued(store, endpoint.id, f"slot-{number}").id for number in range(THREADS)]

    with ThreadPoolExecutor(THREADS) as pool:
        won = [one for one in pool.map(lambda check_id: queue.claim(check_id, "worker", AT), checks) if one is not None]

    assert len(won) == 1


def test_of_many_threads_one_takes_over_and_only_it_may_write(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    lost = queue.claim(check.id, "lost", AT)
    assert lost is not None
    run_id = store.begin_run(start(endpoint.id, check_id=check.id), at=AT, lease=lost.lease)

    def work(number: int) -> Claimed | None:
        return queue.claim(check.id, f"worker {number}", AT + LEASE + SECOND)

    with ThreadPoolExecutor(THREADS) as pool:
        (winner,) = [claimed for claimed in pool.map(work, range(THREADS)) if claimed is not None]

    assert winner.lease.attempt == 2
    with pytest.raises(LeaseLostError):
        store.add_samples(run_id, [sample("a")], at=AT, lease=lost.lease)
    store.add_samples(run_id, [sample("a")], at=AT, lease=winner.lease)
    queue.finish(winner.lease, status=RunStatus.SUCCEEDED, at=AT + LEASE)


def test_sweepers_and_owners_at_once_end_every_check_once(store: Store) -> None:
    queue = Queue(store.sessions)
    checks = enqueued_apart(store, CHECKS, deadline=AT + LEASE)
    leases = [claimed.lease for check in checks if (claimed := queue.claim(check.id, "worker", AT)) is not None]

    def finish(number: int) -> bool:
        try:
            queue.finish(leases[number], status=RunStatus.SUCCEEDED, at=AT + LEASE)
        except LeaseLostError:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        sweeping = [pool.submit(queue.sweep, AT + LEASE + SECOND) for _ in range(4)]
        finished = list(pool.map(finish, range(CHECKS)))
        expired = [check_id for swept in sweeping for check_id in swept.result().expired]

    assert len(expired) == len(set(expired))
    assert len(expired) + sum(finished) == CHECKS


def test_a_bucket_never_grants_more_than_it_holds(database_url: str, store: Store) -> None:
    taken = said_by_processes(take_tokens, [(database_url, 1.0)] * PROCESSES)

    assert sum(taken) == 40


def test_a_bucket_shared_by_threads_never_grants_more_than_it_holds(store: Store) -> None:
    limits = Limits(store.sessions)

    with ThreadPoolExecutor(THREADS) as pool:
        waits = list(pool.map(lambda _: limits.take_tokens("acme", 3, per_minute=60, burst=20, at=AT), range(40)))

    assert waits.count(0.0) == 6
    assert all(wait == pytest.approx(1.0) for wait in waits if wait)


def test_reservations_never_exceed_the_budget(database_url: str, store: Store, endpoint: EndpointRecord) -> None:
    checks = [enqueued(store, endpoint.id, f"slot-{number}").id for number in range(60)]
    shares = [checks[number::PROCESSES] for number in range(PROCESSES)]

    granted = said_by_processes(reserve, [(database_url, *share) for share in shares])

    assert sum(granted) == 1000
    assert spent(store, "acme", AT.date()) == (0, 1000)
