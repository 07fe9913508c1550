"""A drift that has settled, in the database: the next epoch, what is kept of the change, and what is left alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Barrier

import pytest
from sqlalchemy import select

from monitor.alerts.rule import BUILT_IN
from monitor.alerts.signals import Verdicted
from monitor.drift.decision import Event, Level
from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.score_stream import Round, ScoreStream
from monitor.errors import StorageError
from monitor.standing import STREAMS
from monitor.store import EndpointRecord, Store
from monitor.store.alerts import Alerts
from monitor.store.streams import Streams
from monitor.store.tables import AuditEntry, ChangeEvent
from monitor.store.vocabulary import AlertState, ChangeKind, EpochEnd
from tests.monitor.store.material import AT, identity, later
from tests.monitor.store.streamed import NOON, STACK, baseline, begun, fed, key, plan, scored
from tests.monitor.store.test_alerts import all_of, firing
from tests.monitor.store.test_feeding import Made

HOURS = 90
MOVED_AT = 6


@pytest.fixture
def streams(store: Store) -> Streams:
    return Streams(store.sessions)


def hour(number: float) -> datetime:
    return later(60.0 * number)


def drifting(
    store: Store, endpoint: EndpointRecord, hours: int = HOURS, *, our_side_at: int | None = None
) -> StreamKey:
    """Six hours as before, then another regime, an hour a round."""
    streams, watched = Streams(store.sessions), key(endpoint, Tier.LOGPROBS, "anchors-1")
    streams.open(endpoint.id, plan([watched]), baselines={watched: baseline()}, at=AT)
    for number in range(hours):
        score = (0.1 if number < MOVED_AT else 0.8) + 0.02 * (number % 3)
        one, side = scored(watched, Round(NOON + 3_600.0 * number + 1.0, score)), None
        if number == our_side_at:
            side = "our side moved: another print"
        streams.add(begun(store, endpoint, 60 * number), [one], stack=STACK, at=hour(number), our_side=side)
    return watched


def changes(store: Store) -> list[str]:
    with store.sessions.read() as session:
        return list(session.scalars(select(ChangeEvent.text).where(ChangeEvent.kind == ChangeKind.BASELINE)))


def test_a_drift_settles_once_and_the_change_is_kept(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    watched = drifting(store, endpoint)
    assert streams.settle(endpoint.id, at=hour(MOVED_AT + 71)) is None
    assert changes(store) == []

    found = streams.settle(endpoint.id, at=hour(MOVED_AT + 76))

    assert found is not None
    assert (found.epoch.number, found.state.level, found.worth) == (1, Level.QUIET, 1.0)
    process = found.streams[watched].process
    assert isinstance(process, ScoreStream)
    # From the latest start on that explains the drift as well.
    late = 76 - len(process.past)
    assert 0 <= late <= 3
    begins = MOVED_AT + late
    assert [one.at for one in process.past] == [NOON + 3_600.0 * n + 1.0 for n in range(begins, MOVED_AT + 76)]
    closed, following = streams.epochs(endpoint.id)
    assert (closed.why, closed.closed_at, closed.closed_by) == (EpochEnd.SETTLED, hour(MOVED_AT + 76), None)
    assert following.closed_at is None
    # And it is held against the first baseline.
    moved, told = changes(store)
    assert moved.startswith("T1 anchors-1: it has moved since the first baseline")
    assert told == f"epoch 0 closed: {closed.note}"
    assert "it drifted (2026-11-30" in told
    assert f"what came since 2026-11-29 {12 + begins}:00 UTC is steady" in told
    assert told.endswith(f"{76 - late} hours, {76 - late} rounds of T1 anchors-1")
    assert repr(streams.states(endpoint.id)) == repr(found)
    # Nobody did it: what people do is audited.
    with store.sessions.read() as session:
        assert session.scalars(select(AuditEntry)).all() == []

    assert streams.settle(endpoint.id, at=hour(MOVED_AT + 76)) is None
    assert streams.settle(endpoint.id, at=hour(MOVED_AT + 200)) is None
    assert (len(streams.epochs(endpoint.id)), len(changes(store))) == (2, 2)


def test_the_next_epoch_goes_on_from_there_and_both_are_replayed(
    store: Store, endpoint: EndpointRecord, streams: Streams
) -> None:
    watched = drifting(store, endpoint)
    assert streams.settle(endpoint.id, at=hour(HOURS)) is not None
    events: list[Event] = []
    for number in range(HOURS, HOURS + 30):
        one = scored(watched, Round(NOON + 3_600.0 * number + 1.0, 0.8 + 0.02 * (number % 3)))
        events += fed(store, endpoint, one, minutes=60 * number).events
    assert events == []
    for number in (0, 1):
        replayed = streams.replay(endpoint.id, number)
        assert (replayed.exact, replayed.difference) == (True, None)


def test_an_alert_is_left_to_a_person(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    alerts = Alerts(store.sessions)
    firing(alerts, endpoint)
    before = all_of(alerts)
    drifting(store, endpoint)
    assert streams.settle(endpoint.id, at=hour(HOURS)) is not None
    assert all_of(alerts) == before


def test_while_our_own_side_moves_nothing_settles(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    drifting(store, endpoint, HOURS, our_side_at=60)
    assert streams.settle(endpoint.id, at=hour(HOURS)) is None


def test_what_is_in_no_drift_or_has_no_epoch_is_refused_quietly(
    store: Store, endpoint: EndpointRecord, streams: Streams
) -> None:
    assert streams.settle(endpoint.id, at=AT) is None
    drifting(store, endpoint, MOVED_AT)
    assert streams.settle(endpoint.id, at=hour(100)) is None
    with pytest.raises(StorageError, match="no endpoint ep_none"):
        streams.settle("ep_none", at=AT)


def test_an_endpoint_settles_by_its_own_rounds(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    other = store.ensure_endpoint(identity("umbrella"), at=AT)
    drifting(store, other)
    drifting(store, endpoint, MOVED_AT + 20)
    assert streams.settle(endpoint.id, at=hour(HOURS)) is None
    assert streams.settle(other.id, at=hour(HOURS)) is not None


def test_the_runs_of_checks_settle_it_and_its_alert_waits_for_a_person(
    store: Store, endpoint: EndpointRecord, streams: Streams
) -> None:
    made = Made(store, endpoint)
    made.runs(120, feeds=False)
    made.runs(8)
    made.moved = 0.05
    last = ""
    while streams.states(endpoint.id).state.level is not Level.DRIFT:
        last = made.run()
    (evidence,) = store.evidence(last)
    drifted = Verdicted("chk_1", made.at, STREAMS, evidence.verdict, proven=True)
    alerts = Alerts(store.sessions)
    (alert_id,) = alerts.apply(endpoint.id, {}, [drifted], BUILT_IN, at=made.at)

    said = [store.evidence(run) for run in made.runs(40)]

    assert [one.why for one in streams.epochs(endpoint.id)] == [EpochEnd.SETTLED, None]
    assert streams.states(endpoint.id).state.level is Level.QUIET
    assert said[0] != ()
    assert said[-1] == ()
    assert alerts.show(alert_id).state is AlertState.FIRING
    # An upgrade of ours scores the new regime's rounds anew, and none of before.
    began = made.score_stream().past[0].at
    made.stack = "stack-2"
    made.run()
    assert made.score_stream().past[0].at == began
    streams.accept(endpoint.id, {}, note="they said so", actor="ada", at=made.at)
    assert alerts.show(alert_id).state is AlertState.RESOLVED


def test_of_two_that_settle_it_at_once_one_does(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    drifting(store, endpoint)
    together = Barrier(4, timeout=60)

    def work(_: int) -> bool:
        together.wait()
        return streams.settle(endpoint.id, at=hour(HOURS)) is not None

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(work, range(4))) == [False, False, False, True]
    assert sum(text.startswith("epoch 0 closed") for text in changes(store)) == 1
