"""A person accepts what an endpoint is now: its runs' baselines and its streams' epoch, together or not at all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from sqlalchemy import event, select

from monitor.drift.decision import Event, Level
from monitor.drift.score_stream import ScoreStream
from monitor.errors import UsageError
from monitor.store import EndpointRecord, Enrol, Store
from monitor.store.stream_records import Added
from monitor.store.stream_views import StreamViews
from monitor.store.streams import Streams
from monitor.store.tables import AuditEntry
from monitor.store.vocabulary import BaselineStatus, EpochEnd
from probes.plan import ProbeKind
from tests.monitor.store.material import AT, finished_run, later, result, start
from tests.monitor.store.streamed import NOON, fed_each, hourly, key, levelled, plan
from tests.monitor.store.test_feeding import Made

HOUR = 3_600.0
LAWFUL, MOVED = [0.1] * 6, [1.0] * 12
AFTER = 60 * (len(LAWFUL) + len(MOVED))


def enrolled(store: Store, endpoint: EndpointRecord) -> str:
    run_id = store.begin_run(start(endpoint.id), at=AT)
    store.finish_run(run_id, result(baseline=Enrol()), at=AT)
    return run_id


def events_of(added: Iterable[Added]) -> list[Event]:
    return [event for one in added for event in one.events]


def test_baselines_and_the_epoch_are_accepted_together(store: Store, endpoint: EndpointRecord) -> None:
    enrolled(store, endpoint)
    latest = finished_run(store, endpoint.id, later(1))
    watched = levelled(store, endpoint)
    assert Event.DRIFTED in events_of(hourly(store, endpoint, watched, [*LAWFUL, *MOVED]))

    accepted = store.accept_all(endpoint.id, note=" they announced it", at=later(AFTER), actor="cli:ada")

    assert [(one.probe, one.runs[0].run_id) for one in accepted.baselines] == [(ProbeKind.LOGPROBS, latest)]
    assert accepted.epoch is not None
    assert (accepted.epoch.closed, accepted.epoch.opened.epoch.number) == (0, 1)
    streams = Streams(store.sessions)
    closed, opened = streams.epochs(endpoint.id)
    assert (closed.why, closed.note, closed.closed_by) == (EpochEnd.ACCEPTED, "they announced it", "cli:ada")
    assert opened.closed_at is None
    assert streams.states(endpoint.id).state.level is Level.QUIET
    with store.sessions.read() as session:
        actions = session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)).all()
    assert actions == ["epoch.accept", "baseline.accept"]


def test_the_new_baseline_holds_no_round_from_before_the_change(store: Store, endpoint: EndpointRecord) -> None:
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [*LAWFUL, *MOVED])

    accepted = store.accept_all(endpoint.id, note="x", at=later(AFTER), actor="ada").epoch

    assert accepted is not None
    assert accepted.since.timestamp() >= NOON + len(LAWFUL) * HOUR + 1.0
    process = accepted.opened.streams[watched].process
    assert isinstance(process, ScoreStream)
    # Levels come from them alone, and there are too few days of them.
    assert process.bets is None
    assert {one.score for one in process.past} == {1.0}
    assert len(process.past) == accepted.rounds
    assert 10 <= accepted.rounds <= len(MOVED)


def test_what_was_accepted_alarms_no_more(store: Store, endpoint: EndpointRecord) -> None:
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [*LAWFUL, *MOVED])
    store.accept_all(endpoint.id, note="x", at=later(AFTER), actor="ada")
    # The same scores, by the levels of before, were a drift within hours.
    assert events_of(hourly(store, endpoint, watched, MOVED, first=len(LAWFUL) + len(MOVED))) == []


def test_a_change_that_is_not_proven_yet_is_accepted_too(store: Store, endpoint: EndpointRecord) -> None:
    watched = levelled(store, endpoint)
    assert Event.DRIFTED not in events_of(hourly(store, endpoint, watched, [*LAWFUL, *MOVED[:4]]))
    accepted = store.accept_all(endpoint.id, note="x", at=later(60 * 10), actor="ada").epoch
    assert accepted is not None
    assert accepted.since.timestamp() >= NOON + len(LAWFUL) * HOUR
    assert accepted.rounds <= 4


def test_streams_that_saw_nothing_keep_their_levels(store: Store, endpoint: EndpointRecord) -> None:
    enrolled(store, endpoint)
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [0.1, 0.2] * 6)
    before = Streams(store.sessions).states(endpoint.id)

    accepted = store.accept_all(endpoint.id, note="another tool parser", at=later(800), actor="ada")

    assert (len(accepted.baselines), accepted.epoch) == (1, None)
    assert repr(Streams(store.sessions).states(endpoint.id)) == repr(before)


def test_where_no_stream_tells_when_it_is_since_it_was_shown(store: Store, endpoint: EndpointRecord) -> None:
    """Of p-values no onset is known."""
    watched = key(endpoint)
    Streams(store.sessions).open(endpoint.id, plan([watched]), at=AT)
    added = fed_each(store, endpoint, watched, [0.03] * 12)
    shown = next(minutes for minutes, one in enumerate(added) if Event.SHOWN in one.events)
    accepted = store.accept_all(endpoint.id, note="x", at=later(20), actor="ada").epoch
    assert accepted is not None
    assert (accepted.since, accepted.rounds) == (later(shown), 0)
    assert accepted.opened.worth == 1.0


def test_streams_alone_can_be_accepted(store: Store, endpoint: EndpointRecord) -> None:
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [*LAWFUL, *MOVED])
    accepted = store.accept_all(endpoint.id, note="x", at=later(AFTER), actor="ada")
    assert accepted.baselines == []
    assert accepted.epoch is not None


def test_where_there_is_nothing_to_accept_it_is_said(store: Store, endpoint: EndpointRecord) -> None:
    with pytest.raises(UsageError, match="has no finished run to accept"):
        store.accept_all(endpoint.id, note="x", at=AT, actor="ada")
    levelled(store, endpoint)
    with pytest.raises(UsageError, match="has no finished run to accept"):
        store.accept_all(endpoint.id, note="x", at=AT, actor="ada")


def test_without_a_note_nothing_changes(store: Store, endpoint: EndpointRecord) -> None:
    enrolled(store, endpoint)
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [*LAWFUL, *MOVED])
    with pytest.raises(UsageError, match="only with a note"):
        store.accept_all(endpoint.id, note=" ", at=later(AFTER), actor="ada")
    assert [one.closed_at for one in Streams(store.sessions).epochs(endpoint.id)] == [None]


def test_what_fails_half_way_leaves_all_as_it_was(store: Store, endpoint: EndpointRecord) -> None:
    enrolled(store, endpoint)
    finished_run(store, endpoint.id, later(1))
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [*LAWFUL, *MOVED])

    def refuse(*_: object) -> None:
        raise RuntimeError("the disk is full")

    event.listen(AuditEntry, "before_insert", refuse)
    try:
        with pytest.raises(RuntimeError, match="full"):
            store.accept_all(endpoint.id, note="x", at=later(AFTER), actor="ada")
    finally:
        event.remove(AuditEntry, "before_insert", refuse)

    (baseline,) = store.baselines(endpoint.id)
    assert baseline.status is BaselineStatus.ACTIVE
    assert [one.closed_at for one in Streams(store.sessions).epochs(endpoint.id)] == [None]
    assert Streams(store.sessions).states(endpoint.id).state.level is Level.DRIFT


def test_what_checks_fed_is_seen_accepted_and_quiet_from_then_on(store: Store, endpoint: EndpointRecord) -> None:
    """The whole way: runs that end feed streams, which are enrolled, prove a drift, and go on from it."""
    made = Made(store, endpoint)
    made.runs(120, feeds=False)
    made.runs(2)
    began, made.moved = made.at, 0.3
    made.runs(16)
    found = StreamViews(store.sessions).view(endpoint.id)
    assert found is not None
    assert found.now.state.level is Level.DRIFT
    assert found.onset is not None
    assert found.onset.first == began.timestamp()

    accepted = store.accept_all(endpoint.id, note="as announced", at=made.at, actor="ada")

    assert accepted.epoch is not None
    assert accepted.epoch.since >= began
    assert [one.probe for one in accepted.baselines] == [ProbeKind.LOGPROBS]
    assert made.enrolments()[0] is not None
    made.runs(8)
    after = StreamViews(store.sessions).view(endpoint.id)
    assert after is not None
    assert after.now.state.level is Level.QUIET
