"""Why an endpoint is silent: for a reason of ours, or of its own."""

from __future__ import annotations

from datetime import datetime

import pytest

from monitor.store import EndpointRecord, Queue, RunStatus, Store, Trigger
from monitor.store.queue_silence import our_fault
from tests.monitor.store.material import AT, later
from tests.monitor.store.queued import enqueued


def fault(store: Store, endpoint: EndpointRecord, at: datetime) -> str | None:
    with store.sessions.read() as session:
        return our_fault(session, endpoint.id, at)


def ended(store: Store, endpoint: EndpointRecord, minutes: float, code: str | None, **other: object) -> None:
    queue = Queue(store.sessions)
    claimed = queue.claim(enqueued(store, endpoint.id, f"{minutes}", **other).id, "worker", later(minutes))
    assert claimed is not None
    queue.finish(claimed.lease, status=RunStatus.FAILED, error_code=code, at=later(minutes))


def test_it_is_ours_as_long_as_the_last_check_that_ended_failed_for_us(store: Store, endpoint: EndpointRecord) -> None:
    found = [fault(store, endpoint, later(1))]
    for minutes, code in enumerate(["secret_missing", "provider_rejected", "offline", None], start=1):
        ended(store, endpoint, minutes, code)
        found.append(fault(store, endpoint, later(10)))

    assert found == [None, "secret_missing", None, "offline", None]


@pytest.mark.parametrize("trigger", [Trigger.CLI, Trigger.CI])
def test_a_command_somewhere_says_nothing_of_the_service(
    store: Store, endpoint: EndpointRecord, trigger: Trigger
) -> None:
    ended(store, endpoint, 1, "secret_missing", trigger=trigger, schedule=None)

    assert fault(store, endpoint, later(2)) is None


def test_a_check_that_nobody_takes_is_a_fault_of_ours(store: Store, endpoint: EndpointRecord) -> None:
    enqueued(store, endpoint.id, slot_at=later(1))

    assert [fault(store, endpoint, later(minutes)) for minutes in (0, 2)] == [None, "expired"]


def test_one_that_waits_behind_another_is_none(store: Store, endpoint: EndpointRecord) -> None:
    Queue(store.sessions).claim(enqueued(store, endpoint.id, "first").id, "worker", AT)
    enqueued(store, endpoint.id, "second")

    assert fault(store, endpoint, later(0.5)) is None
    # Its lease has run out: its worker is lost.
    assert fault(store, endpoint, later(2)) == "expired"
