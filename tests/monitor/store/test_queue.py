from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta

import pytest
from sqlalchemy import select

from monitor.drift.rule import Verdict
from monitor.errors import LeaseLostError, UsageError
from monitor.store import Backlog, EndpointRecord, Queue, RunStatus, Store, Trigger, queue_sweep
from monitor.store.queue import LEASE
from monitor.store.queue_rows import MAX_ATTEMPTS
from monitor.store.queue_sweep import RING_AGAIN_AFTER
from monitor.store.tables import ServiceEvent
from tests.monitor.store.material import AT, identity, later, sample, start
from tests.monitor.store.queued import SECOND, enqueued, enqueued_apart, request

AFTER_THE_LEASE = AT + LEASE + SECOND


@pytest.fixture
def queue(store: Store) -> Queue:
    return Queue(store.sessions)


def test_a_key_is_entered_once_and_only_what_is_new_comes_back(queue: Queue, endpoint: EndpointRecord) -> None:
    first = queue.enqueue([request(endpoint.id, "b"), request(endpoint.id, "a"), request(endpoint.id, "a")], AT)
    again = queue.enqueue([request(endpoint.id, "a"), request(endpoint.id, "c")], later(1))

    assert [entry.idempotency_key for entry in first] == ["a", "b"]
    assert [entry.idempotency_key for entry in again] == ["c"]


def test_an_entry_holds_what_was_asked_for(queue: Queue, endpoint: EndpointRecord) -> None:
    wanted = request(endpoint.id, options={"probes": ["logprobs"]}, deadline=later(15))

    (entry,) = queue.enqueue([wanted], later(1))

    assert asdict(entry) == {
        **asdict(wanted),
        "id": entry.id,
        "provider": "acme",
        "model": "smol",
        "nonce": entry.nonce,
        "status": RunStatus.QUEUED,
        "attempt": 0,
        "lease_owner": None,
        "lease_until": None,
        "rung_at": None,
        "done": 0,
        "planned": 0,
        "verdict": None,
        "enrolled": False,
        "error_code": None,
        "error": None,
        "queued_at": later(1),
        "started_at": None,
        "finished_at": None,
    }
    assert len(entry.nonce) == 32
    assert queue.entry(entry.id) == entry


def test_many_entries_fit_one_call(queue: Queue, endpoint: EndpointRecord) -> None:
    made = queue.enqueue([request(endpoint.id, f"slot-{number}") for number in range(1200)], AT)

    assert len({entry.id for entry in made}) == len({entry.nonce for entry in made}) == 1200
    assert queue.backlog() == Backlog(1200, AT)


def test_a_claimed_check_is_not_claimed_again_before_its_lease_ends(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)

    claimed = queue.claim(check.id, "one", later(1))

    assert claimed is not None
    assert (claimed.lease.attempt, claimed.lease.until) == (1, later(2))
    assert (claimed.entry.status, claimed.entry.started_at) == (RunStatus.LEASED, later(1))
    assert claimed.entry.nonce == check.nonce
    assert queue.claim(check.id, "two", later(2)) is None


def test_a_lease_that_ran_out_is_taken_over_and_what_its_owner_writes_is_refused(
    store: Store, endpoint: EndpointRecord
) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    stale = queue.claim(check.id, "one", AT)
    assert stale is not None
    run_id = store.begin_run(start(endpoint.id, check_id=check.id), at=AT, lease=stale.lease)

    fresh = queue.claim(check.id, "two", AFTER_THE_LEASE)

    assert fresh is not None
    assert (fresh.lease.attempt, fresh.entry.started_at) == (2, AT)
    for write in (
        lambda: queue.hold(stale.lease),
        lambda: queue.extend(stale.lease, AFTER_THE_LEASE, done=1, planned=3),
        lambda: queue.finish(stale.lease, status=RunStatus.SUCCEEDED, at=AFTER_THE_LEASE),
        lambda: store.add_samples(run_id, [sample("a")], at=AFTER_THE_LEASE, lease=stale.lease),
    ):
        with pytest.raises(LeaseLostError, match="is no longer attempt 1 of one"):
            write()
    assert store.exchanges(run_id) == []
    store.add_samples(run_id, [sample("a")], at=AFTER_THE_LEASE, lease=fresh.lease)
    assert len(store.exchanges(run_id)) == 1


def test_an_owner_taken_over_by_its_own_process_is_refused_as_well(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    stale = queue.claim(check.id, "one", AT)
    assert stale is not None
    queue.claim(check.id, "one", AFTER_THE_LEASE)

    with pytest.raises(LeaseLostError):
        queue.hold(stale.lease)


def test_a_heartbeat_extends_the_lease_and_tells_how_far_the_check_is(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    claimed = queue.claim(check.id, "one", AT)
    assert claimed is not None

    extended = queue.extend(claimed.lease, AT + 45 * SECOND, done=3, planned=7)

    assert extended.until == AT + 45 * SECOND + LEASE
    assert queue.claim(check.id, "two", AFTER_THE_LEASE) is None
    entry = queue.entry(check.id)
    assert (entry.status, entry.done, entry.planned) == (RunStatus.RUNNING, 3, 7)


def test_a_finished_check_holds_its_end_and_is_over(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    claimed = queue.claim(check.id, "one", AT)
    assert claimed is not None

    queue.finish(
        claimed.lease, status=RunStatus.PARTIAL, at=later(1), verdict=Verdict.OK, enrolled=True, error_code="timeout"
    )

    entry = queue.entry(check.id)
    assert (entry.status, entry.verdict, entry.enrolled) == (RunStatus.PARTIAL, Verdict.OK, True)
    assert (entry.error_code, entry.finished_at, entry.lease_until) == ("timeout", later(1), None)
    assert queue.claim(check.id, "two", later(60)) is None
    with pytest.raises(LeaseLostError):
        queue.finish(claimed.lease, status=RunStatus.SUCCEEDED, at=later(1))


def test_a_check_does_not_end_as_something_that_is_no_end(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    claimed = queue.claim(check.id, "one", AT)
    assert claimed is not None

    with pytest.raises(UsageError, match="cannot end as running"):
        queue.finish(claimed.lease, status=RunStatus.RUNNING, at=AT)


def test_a_cancelled_check_stops_its_owner_and_closes_its_runs(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    claimed = queue.claim(check.id, "one", AT)
    assert claimed is not None
    run_id = store.begin_run(start(endpoint.id, check_id=check.id), at=AT, lease=claimed.lease)
    store.add_samples(run_id, [sample("a")], at=AT, lease=claimed.lease)

    assert queue.cancel(check.id, later(1)) is True
    assert queue.cancel(check.id, later(2)) is False

    with pytest.raises(LeaseLostError):
        queue.extend(claimed.lease, later(1), done=1, planned=3)
    run = store.run(run_id)
    assert (run.status, run.n_ok, run.finished_at) == (RunStatus.CANCELLED, 1, later(1))
    assert queue.entry(check.id).status is RunStatus.CANCELLED
    assert queue.cancel("chk_none", later(1)) is False


def test_a_retry_is_one_new_check_however_often_it_is_asked_for(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id, options={"n": 8})
    queue.cancel(check.id, AT)

    again = queue.retry(check.id, later(1))

    assert queue.retry(check.id, later(2)) == again
    assert (again.status, again.trigger, again.options) == (RunStatus.QUEUED, Trigger.API, {"n": 8})
    assert again.id != check.id
    assert again.nonce != check.nonce
    with pytest.raises(UsageError, match=f"Check {again.id} is queued"):
        queue.retry(again.id, later(3))
    with pytest.raises(UsageError, match="There is no check chk_none"):
        queue.retry("chk_none", later(3))


def test_a_check_of_the_callers_own_is_never_taken_over_or_swept(queue: Queue, endpoint: EndpointRecord) -> None:
    own = queue.enter_running(request(endpoint.id, trigger=Trigger.CLI, schedule=None), "me", AT)

    assert queue.claim(own.entry.id, "other", later(600)) is None
    assert queue.sweep(later(600)).to_ring == ()
    assert queue.extend(own.lease, later(1), done=1, planned=3).until is None
    queue.finish(own.lease, status=RunStatus.SUCCEEDED, at=later(2), verdict=Verdict.OK)
    assert queue.entry(own.entry.id).verdict is Verdict.OK
    with pytest.raises(UsageError, match="There is a check slot-1 already"):
        queue.enter_running(request(endpoint.id), "me", AT)


def test_a_check_that_is_given_back_goes_on_elsewhere_and_has_lost_no_attempt(
    store: Store, endpoint: EndpointRecord
) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    for turn in range(2 * MAX_ATTEMPTS):
        claimed = queue.claim(check.id, f"worker {turn}", later(turn))
        assert claimed is not None
        assert (claimed.lease.attempt, claimed.entry.done) == (1, turn)
        queue.give_back(claimed.lease, later(turn), done=turn + 1, planned=40)
        with pytest.raises(LeaseLostError):
            queue.hold(claimed.lease)

    entry = queue.entry(check.id)
    assert (entry.status, entry.attempt, entry.lease_owner) == (RunStatus.QUEUED, 0, None)
    assert (entry.done, entry.planned) == (2 * MAX_ATTEMPTS, 40)


def test_whoever_lost_a_check_does_not_hold_it_again_when_it_is_given_back(
    store: Store, endpoint: EndpointRecord
) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    stale = queue.claim(check.id, "one", AT)
    fresh = queue.claim(check.id, "two", AFTER_THE_LEASE)
    assert stale is not None
    assert fresh is not None

    queue.give_back(fresh.lease, AFTER_THE_LEASE, done=0, planned=0)
    queue.claim(check.id, "one", AFTER_THE_LEASE)

    with pytest.raises(LeaseLostError):
        queue.hold(stale.lease)
    assert queue.entry(check.id).attempt == 2


def test_a_check_that_is_given_back_for_ever_ends_by_its_deadline(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id, deadline=later(15))
    claimed = queue.claim(check.id, "one", later(14))
    assert claimed is not None
    queue.give_back(claimed.lease, later(14.5), done=1, planned=40)

    assert queue.claim(check.id, "two", later(15)) is None
    assert queue.sweep(later(15)).expired == (check.id,)


def test_a_claim_tells_whether_runs_were_begun(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    first = queue.claim(check.id, "one", AT)
    assert first is not None
    store.begin_run(start(endpoint.id, check_id=check.id), at=AT, lease=first.lease)
    queue.give_back(first.lease, AT, done=0, planned=3)

    second = queue.claim(check.id, "two", AT)

    assert second is not None
    assert (first.begun, second.begun) == (False, True)


def test_a_clock_that_is_set_back_leaves_no_check_behind(store: Store, endpoint: EndpointRecord) -> None:
    queue, unheard = Queue(store.sessions), enqueued(store, endpoint.id, "unheard")
    other = store.ensure_endpoint(identity("other"), at=AT)
    lost = enqueued(store, other.id, "lost")
    queue.claim(lost.id, "dead", AT)
    before = AT - timedelta(hours=1)

    assert set(queue.sweep(before).to_ring) == {unheard.id, lost.id}
    assert queue.claim(lost.id, "alive", before) is not None


def test_a_queued_check_whose_bell_was_not_heard_is_rung_again(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)

    assert queue.sweep(AT + RING_AGAIN_AFTER - SECOND).to_ring == ()
    assert queue.sweep(AT + RING_AGAIN_AFTER).to_ring == (check.id,)
    queue.rung([check.id], AT + RING_AGAIN_AFTER)
    assert queue.sweep(AT + RING_AGAIN_AFTER + SECOND).to_ring == ()
    assert queue.sweep(AT + 2 * RING_AGAIN_AFTER).to_ring == (check.id,)


def test_a_sweep_rings_for_those_that_go_next_and_not_for_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_sweep, "_RUNG_AT_ONCE", 2)
    scheduled = sorted(check.id for check in enqueued_apart(store, 3))
    other = store.ensure_endpoint(identity("asked-for"), at=AT).id
    asked = enqueued(store, other, "asked-for", trigger=Trigger.API, schedule=None)
    queue = Queue(store.sessions)

    for seconds in (10, 20, 30):
        swept = queue.sweep(AT + seconds * SECOND)
        assert swept.to_ring == (asked.id, scheduled[0])
        queue.rung(swept.to_ring, AT + seconds * SECOND)


def test_a_check_whose_lease_ran_out_is_rung_again(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    queue.claim(check.id, "one", AT)

    assert queue.sweep(AT + LEASE).to_ring == ()
    assert queue.sweep(AFTER_THE_LEASE).to_ring == (check.id,)


def test_a_check_that_loses_every_owner_fails_and_its_run_with_it(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    at = AT
    for attempt in range(1, MAX_ATTEMPTS + 1):
        claimed = queue.claim(check.id, f"worker {attempt}", at)
        assert claimed is not None
        if attempt == 1:
            run_id = store.begin_run(start(endpoint.id, check_id=check.id), at=AT, lease=claimed.lease)
        at += LEASE + SECOND

    assert queue.claim(check.id, "one more", at) is None
    swept = queue.sweep(at)

    assert (swept.failed, swept.to_ring) == ((check.id,), ())
    entry = queue.entry(check.id)
    assert (entry.status, entry.error_code) == (RunStatus.FAILED, "abandoned")
    assert entry.error == "3 workers in turn stopped before it was done."
    assert store.run(run_id).status is RunStatus.FAILED
    assert queue.sweep(at).failed == ()


@pytest.mark.parametrize(("ended", "error"), [("failed", "abandoned"), ("cancelled", None)])
def test_a_check_that_is_ended_from_outside_is_told_by_its_endpoints_labels(
    store: Store, ended: str, error: str | None
) -> None:
    queue = Queue(store.sessions)
    endpoint = store.ensure_endpoint(identity(labels={"tier": "prod"}), at=AT)
    check, at = enqueued(store, endpoint.id), AT
    for _ in range(MAX_ATTEMPTS):
        queue.claim(check.id, "worker", at)
        at += LEASE + SECOND

    if ended == "cancelled":
        queue.cancel(check.id, at)
    queue.sweep(at)
    queue.sweep(at)

    with store.sessions.read() as session:
        (told,) = session.scalars(select(ServiceEvent)).all()
    assert (told.type, told.endpoint_id) == ("run.finished", endpoint.id)
    assert told.labels == {"tier": "prod", "provider": "acme", "model": "smol"}
    assert (told.data["check"], told.data["status"], told.data["error"]) == (check.id, ended, error)


def test_a_check_past_its_deadline_expires_and_is_not_begun(store: Store, endpoint: EndpointRecord) -> None:
    queue = Queue(store.sessions)
    late = enqueued(store, endpoint.id, "late", deadline=later(15))
    other = store.ensure_endpoint(identity("other"), at=AT)
    working = enqueued(store, other.id, "working", deadline=later(15))
    claimed = queue.claim(working.id, "one", later(14.5))
    assert claimed is not None

    assert queue.claim(late.id, "one", later(15)) is None
    swept = queue.sweep(later(15))

    assert (swept.expired, swept.to_ring) == ((late.id,), ())
    assert (queue.entry(late.id).status, queue.entry(late.id).error_code) == (RunStatus.EXPIRED, "expired")
    queue.finish(claimed.lease, status=RunStatus.SUCCEEDED, at=later(15))


def test_the_last_slots_are_those_of_the_schedule(store: Store, endpoint: EndpointRecord) -> None:
    queue = Queue(store.sessions)
    other = store.ensure_endpoint(identity("other"), at=AT)
    enqueued(store, endpoint.id, "1", slot_at=AT)
    enqueued(store, endpoint.id, "2", slot_at=later(15))
    enqueued(store, endpoint.id, "3", slot_at=later(60), schedule="nightly")

    assert queue.last_slots("default", [endpoint.id, other.id], later(60)) == {endpoint.id: later(15)}


def test_slots_that_a_wrong_clock_entered_do_not_hold_up_their_schedule(store: Store, endpoint: EndpointRecord) -> None:
    queue = Queue(store.sessions)
    enqueued(store, endpoint.id, "now", slot_at=AT)
    enqueued(store, endpoint.id, "in ten years", slot_at=AT + timedelta(days=3653))

    assert queue.last_slots("default", [endpoint.id], later(5)) == {endpoint.id: AT}


def test_a_fence_that_fails_undoes_what_was_written_before_it(store: Store, endpoint: EndpointRecord) -> None:
    queue, check = Queue(store.sessions), enqueued(store, endpoint.id)
    claimed = queue.claim(check.id, "one", AT, timedelta(seconds=1))
    assert claimed is not None
    queue.cancel(check.id, AT)

    with pytest.raises(LeaseLostError):
        store.begin_run(start(endpoint.id, check_id=check.id), at=AT, lease=claimed.lease)

    assert store.history() == []
