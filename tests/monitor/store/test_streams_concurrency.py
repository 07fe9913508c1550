"""Many workers at one endpoint's streams at once: nothing is lost, nothing counts twice, nobody waits for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from sqlalchemy import select

from monitor.errors import EvidenceRefusedError
from monitor.store import EndpointRecord, RunStatus, Store
from monitor.store.streams import Streams
from monitor.store.tables import StreamEvidence
from tests.monitor.store.material import AT, later, result
from tests.monitor.store.streamed import STACK, begun, exact, key, plan, said

THREADS = 6
ROUNDS = 4


def test_evidence_that_many_add_at_once_is_all_there_in_one_order(store: Store, endpoint: EndpointRecord) -> None:
    streams, keys = Streams(store.sessions), [key(endpoint), key(endpoint, probe_set="draws-2")]
    streams.open(endpoint.id, plan(keys), at=AT)
    together = Barrier(THREADS, timeout=60)

    def work(number: int) -> list[int]:
        sequences: list[int] = []
        for turn in range(ROUNDS):
            minutes = 10 * turn + number
            run_id = begun(store, endpoint, minutes)
            together.wait()
            evidence = [said(each, exact(0.05 + 0.03 * number), minutes) for each in keys]
            sequences += streams.add(run_id, evidence, stack=STACK, at=later(minutes)).sequences
        return sequences

    with ThreadPoolExecutor(THREADS) as pool:
        given = [sequence for each in pool.map(work, range(THREADS)) for sequence in each]

    assert sorted(given) == list(range(1, 2 * THREADS * ROUNDS + 1))
    replayed = streams.replay(endpoint.id, 0)
    assert (replayed.evidence, replayed.looks) == (2 * THREADS * ROUNDS, THREADS * ROUNDS)
    assert replayed.difference is None
    assert repr(replayed.final) == repr(streams.states(endpoint.id))


def test_of_many_that_add_the_same_run_one_counts(store: Store, endpoint: EndpointRecord) -> None:
    streams, watched = Streams(store.sessions), key(endpoint)
    streams.open(endpoint.id, plan([watched]), at=AT)
    run_id, together = begun(store, endpoint), Barrier(THREADS, timeout=60)

    def work(number: int) -> tuple[int, ...]:
        together.wait()
        return streams.add(run_id, [said(watched, exact(0.01))], stack=STACK, at=later(number)).sequences

    with ThreadPoolExecutor(THREADS) as pool:
        given = list(pool.map(work, range(THREADS)))

    assert sorted(given) == [()] * (THREADS - 1) + [(1,)]
    with store.sessions.read() as session:
        assert len(session.scalars(select(StreamEvidence)).all()) == 1


def test_runs_end_while_their_evidence_is_added(store: Store, endpoint: EndpointRecord) -> None:
    """Both hold the run and the endpoint: in another order they would wait for each other for ever."""
    streams, watched = Streams(store.sessions), key(endpoint)
    streams.open(endpoint.id, plan([watched]), at=AT)
    runs = [begun(store, endpoint, minutes) for minutes in range(THREADS * ROUNDS)]
    together = Barrier(2, timeout=60)

    def finish() -> None:
        for run_id in runs:
            together.wait()
            store.finish_run(run_id, result(), at=later(1))

    def add() -> None:
        for minutes, run_id in enumerate(runs):
            together.wait()
            streams.add(run_id, [said(watched, exact(0.4), minutes)], stack=STACK, at=later(minutes))

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(finish), pool.submit(add)]:
            done.result()

    assert {store.run(run_id).status for run_id in runs} == {RunStatus.SUCCEEDED}
    assert streams.replay(endpoint.id, 0).evidence == len(runs)


def test_of_many_that_open_one_opens_and_of_many_that_expire_each_goes_on(
    store: Store, endpoint: EndpointRecord
) -> None:
    streams, watched, together = Streams(store.sessions), key(endpoint), Barrier(THREADS, timeout=60)

    def work(number: int) -> bool:
        together.wait()
        try:
            streams.open(endpoint.id, plan([watched]), at=AT)
        except EvidenceRefusedError:
            return False
        return True

    def expire(number: int) -> int:
        together.wait()
        return streams.expire(endpoint.id, at=later(number)).epoch.number

    with ThreadPoolExecutor(THREADS) as pool:
        opened = list(pool.map(work, range(THREADS)))
        expired = list(pool.map(expire, range(THREADS)))

    assert sum(opened) == 1
    assert sorted(expired) == list(range(1, THREADS + 1))
    assert [one.number for one in streams.epochs(endpoint.id) if one.closed_at is None] == [THREADS]
