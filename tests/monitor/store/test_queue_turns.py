"""The checks of one endpoint are made one after the other, and none waits for ever."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select

from monitor.store import EndpointRecord, Queue, RunStatus, Store, Trigger
from monitor.store.queue import LEASE, claim
from monitor.store.queue_sweep import RING_AGAIN_AFTER, sweep
from monitor.store.queue_turns import next_in_turn
from monitor.store.tables import ServiceEvent
from tests.monitor.store.material import AT, identity, later
from tests.monitor.store.queued import SECOND, enqueued, request
from tests.servers import SQLITE

NUMBERS = count()
ASKED_FOR = [Trigger.API, Trigger.CONFIRM]


@pytest.fixture
def queue(store: Store) -> Queue:
    return Queue(store.sessions)


def by(trigger: Trigger) -> dict[str, object]:
    return {"trigger": trigger, "schedule": "default" if trigger is Trigger.SCHEDULE else None}


def next_of(store: Store, endpoint: EndpointRecord, at: datetime) -> str | None:
    with store.sessions.read() as session:
        return next_in_turn(session, endpoint.id, at)


@pytest.mark.parametrize("trigger", [Trigger.SCHEDULE, *ASKED_FOR])
def test_a_check_waits_until_the_one_before_it_has_ended(
    store: Store, queue: Queue, endpoint: EndpointRecord, trigger: Trigger
) -> None:
    first = enqueued(store, endpoint.id, "1")
    making = queue.claim(first.id, "one", AT)
    assert making is not None
    second = enqueued(store, endpoint.id, "2", **by(trigger))
    other = enqueued(store, store.ensure_endpoint(identity("other"), at=AT).id, "3")

    assert queue.claim(second.id, "two", AT) is None
    assert queue.sweep(AT + RING_AGAIN_AFTER).to_ring == (other.id,)
    assert queue.claim(other.id, "two", AT) is not None
    queue.finish(making.lease, status=RunStatus.SUCCEEDED, at=later(1))

    assert next_of(store, endpoint, later(1)) == second.id
    assert queue.claim(second.id, "two", later(1)) is not None


@pytest.mark.parametrize("trigger", ASKED_FOR)
def test_what_somebody_waits_for_goes_before_what_is_scheduled(
    store: Store, queue: Queue, endpoint: EndpointRecord, trigger: Trigger
) -> None:
    scheduled = enqueued(store, endpoint.id, "slot")
    asked = enqueued(store, endpoint.id, "asked", **by(trigger), deadline=later(15))

    assert queue.claim(scheduled.id, "one", later(1)) is None
    assert next_of(store, endpoint, later(1)) == asked.id
    assert queue.claim(scheduled.id, "one", later(15)) is not None


def test_a_check_whose_owner_was_lost_holds_up_nothing(store: Store, queue: Queue, endpoint: EndpointRecord) -> None:
    lost, second = enqueued(store, endpoint.id, "1"), enqueued(store, endpoint.id, "2")
    queue.claim(lost.id, "dead", AT)

    assert queue.claim(second.id, "two", AT + LEASE) is None
    assert queue.claim(second.id, "two", AT + LEASE + SECOND) is not None
    assert queue.claim(lost.id, "three", AT + LEASE + SECOND) is None


def test_a_check_of_a_callers_own_neither_waits_nor_is_waited_for(
    store: Store, queue: Queue, endpoint: EndpointRecord
) -> None:
    scheduled = enqueued(store, endpoint.id)
    first = queue.enter_running(request(endpoint.id, "own", **by(Trigger.CLI)), "me", AT)
    assert queue.claim(scheduled.id, "one", AT) is not None

    second = queue.enter_running(request(endpoint.id, "own again", **by(Trigger.CLI)), "me", AT)

    assert {first.entry.status, second.entry.status} == {RunStatus.RUNNING}


def test_a_slot_that_never_got_its_turn_expires_and_is_told(
    store: Store, queue: Queue, endpoint: EndpointRecord
) -> None:
    first, second = enqueued(store, endpoint.id, "1"), enqueued(store, endpoint.id, "2", deadline=later(15))
    making = queue.claim(first.id, "one", AT)
    assert making is not None
    queue.extend(making.lease, later(14.9), done=1, planned=3)

    assert queue.sweep(later(15)).expired == (second.id,)

    with store.sessions.read() as session:
        told = session.scalars(select(ServiceEvent).where(ServiceEvent.dedupe_key == f"check:{second.id}")).one()
    assert (told.type, told.data["status"], told.data["error"]) == ("run.finished", "expired", "expired")


@SQLITE
def test_however_long_an_endpoints_past_is_only_open_checks_are_looked_at(
    store: Store, queue: Queue, endpoint: EndpointRecord, path: Path
) -> None:
    check = enqueued(store, endpoint.id)
    with store.sessions.write() as session:
        asked: list[str] = []
        event.listen(session.connection(), "before_cursor_execute", lambda *call: asked.append(call[2]))
        claim(session, check.id, "one", AT)
        next_in_turn(session, endpoint.id, AT)
        sweep(session, AT)

    plans = "".join(plan_of(path, statement) for statement in asked if "endpoint_check" in statement)
    assert "ix_endpoint_check_open" in plans
    assert "ix_endpoint_check_endpoint_id" not in plans
    assert "SCAN endpoint_check\n" not in plans


def plan_of(path: Path, statement: str) -> str:
    with closing(sqlite3.connect(path)) as connection:
        unknown = [None] * statement.count("?")
        return "".join(f"{row[3]}\n" for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", unknown))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(triggers=st.lists(st.sampled_from([Trigger.SCHEDULE, *ASKED_FOR]), min_size=1, max_size=5), data=st.data())
def test_whatever_waits_something_can_always_be_made_and_never_two_at_once(
    store: Store, queue: Queue, triggers: list[Trigger], data: st.DataObject
) -> None:
    """Workers claim in any order, and end, give back or lose what they hold."""
    number = next(NUMBERS)
    endpoint_id = store.ensure_endpoint(identity(f"p{number}"), at=AT).id
    checks = [enqueued(store, endpoint_id, f"{number}-{n}", **by(one)).id for n, one in enumerate(triggers)]
    left, at = set(checks), AT
    while left:
        order = data.draw(st.permutations(range(len(checks))))
        won = [one for place in order if (one := queue.claim(checks[place], "worker", at)) is not None]
        assert len(won) == 1, "somebody could begin, and one alone"
        (claimed,) = won
        end = data.draw(st.sampled_from(["finish", "give back", "lose", "finish"]))
        if end == "finish":
            queue.finish(claimed.lease, status=RunStatus.SUCCEEDED, at=at)
            left -= {claimed.lease.check_id}
        elif end == "give back":
            queue.give_back(claimed.lease, at, done=0, planned=0)
        else:
            at += LEASE + SECOND
        left -= set(queue.sweep(at).failed)
