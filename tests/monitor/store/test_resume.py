from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.errors import LeaseLostError
from monitor.store import CheckRequest, EndpointRecord, Queue, ReferenceIdentity, RunStatus, Store, Trigger
from monitor.store.process import this_process
from monitor.store.queue import LEASE
from probes.completion import Completion, Timings
from probes.plan import Outcome, ProbeKind
from probes.quirks import Disposition
from tests.monitor.store.material import AT, REFERENCE, later, result, sample, start
from tests.monitor.store.queued import SECOND, enqueued

# No process has this number.
DEAD = this_process().rsplit(":", 2)[0] + ":4194305:1"


def test_a_run_of_an_earlier_attempt_is_resumed_with_its_samples(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    first = queue.claim(check.id, "one", AT)
    assert first is not None
    run_id = store.begin_run(start(endpoint.id, check_id=check.id), at=AT, lease=first.lease)
    timings = Timings(headers=0.1, first_output=0.2, chunks=(0.2, 0.3))
    answered = replace(sample("a"), completion=Completion(Disposition.NORMALISE, (), 200, timings=timings))
    store.add_samples(run_id, [answered, sample("b", 1, Outcome.TIMEOUT)], at=AT, lease=first.lease)

    second = queue.claim(check.id, "two", AT + LEASE + SECOND)
    assert second is not None
    resumed = store.resume_run(start(endpoint.id, check_id=check.id), at=AT, lease=second.lease)

    assert resumed is not None
    assert (resumed.run.id, resumed.run.status) == (run_id, RunStatus.RUNNING)
    assert [(s.item_key, s.rep, s.outcome) for s in resumed.samples] == [
        ("a", 0, Outcome.OK),
        ("b", 1, Outcome.TIMEOUT),
    ]
    assert [s.exchange.timings if s.exchange else None for s in resumed.samples] == [timings, None]
    with pytest.raises(LeaseLostError):
        store.resume_run(start(endpoint.id, check_id=check.id), at=AT, lease=first.lease)
    with pytest.raises(LeaseLostError):
        store.save_capabilities(endpoint.id, {"logprobs": False}, lease=first.lease)
    assert store.capabilities(endpoint.id) == {}


def test_a_run_that_was_finished_says_so_and_one_never_begun_is_none(store: Store, endpoint: EndpointRecord) -> None:
    check = enqueued(store, endpoint.id)
    run_id = store.begin_run(start(endpoint.id, check_id=check.id), at=AT)
    store.finish_run(run_id, result(), at=AT)

    finished = store.resume_run(start(endpoint.id, check_id=check.id), at=AT)

    assert finished is not None
    assert finished.run.status is RunStatus.SUCCEEDED
    assert store.resume_run(start(endpoint.id, ProbeKind.LATENCY, check_id=check.id), at=AT) is None


@pytest.mark.parametrize("now", [replace(REFERENCE, fingerprint="sha256:bb"), None])
def test_a_resumed_run_is_held_against_the_reference_of_now(
    store: Store, endpoint: EndpointRecord, now: ReferenceIdentity | None
) -> None:
    check = enqueued(store, endpoint.id)
    run_id = store.begin_run(start(endpoint.id, check_id=check.id), at=AT)

    store.resume_run(start(endpoint.id, check_id=check.id, reference=now), at=later(1))

    assert store.run(run_id).reference_fingerprint == (now and now.fingerprint)


def test_a_run_whose_check_the_queue_gives_to_another_is_not_given_up(
    store: Store, database_url: str, endpoint: EndpointRecord
) -> None:
    check = enqueued(store, endpoint.id)
    claimed = Queue(store.sessions).claim(check.id, DEAD, AT)
    assert claimed is not None
    run_id = store.begin_run(start(endpoint.id, check_id=check.id), at=AT, lease=claimed.lease)

    Store.open(database_url, at=later(60), abandoned_after=timedelta(minutes=1)).close()

    assert store.run(run_id).status is RunStatus.RUNNING


def test_a_check_of_a_dead_process_of_its_own_is_closed_with_its_run(
    store: Store, database_url: str, endpoint: EndpointRecord
) -> None:
    queue = Queue(store.sessions)
    dead = queue.enter_running(CheckRequest("cli:1", endpoint.id, Trigger.CLI, AT), DEAD, AT)
    alive = queue.enter_running(CheckRequest("cli:2", endpoint.id, Trigger.CLI, AT), this_process(), AT)
    run_id = store.begin_run(start(endpoint.id, check_id=dead.entry.id), at=AT, lease=dead.lease)

    Store.open(database_url, at=later(1)).close()

    closed = queue.entry(dead.entry.id)
    assert (closed.status, closed.error_code, closed.finished_at) == (RunStatus.FAILED, "abandoned", later(1))
    assert store.run(run_id).status is RunStatus.FAILED
    assert queue.entry(alive.entry.id).status is RunStatus.RUNNING
