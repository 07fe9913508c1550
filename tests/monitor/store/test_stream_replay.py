"""Epochs computed anew from their evidence: the same to the last bit, or the first place where not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update

from monitor.drift import sequential
from monitor.drift.candidates import Hypotheses
from monitor.drift.decision import Event
from monitor.drift.evidence import LogLikelihoods, Scores, Tier
from monitor.drift.levels import DAY
from monitor.drift.score_stream import Round
from monitor.errors import EvidenceRefusedError, ReplayDiffersError, UsageError
from monitor.store import EndpointRecord, Store
from monitor.store.stream_codec import encode_state
from monitor.store.stream_evidence import plain
from monitor.store.streams import Streams
from monitor.store.tables import EndpointLook, StreamEpoch, StreamEvidence, StreamState, Table
from tests.monitor.store.material import AT, later
from tests.monitor.store.streamed import NOON, STACK, baseline, begun, exact, fed, fed_each, key, plan, said, scored


@pytest.fixture
def streams(store: Store) -> Streams:
    return Streams(store.sessions)


def an_eventful_epoch(store: Store, endpoint: EndpointRecord) -> list[str]:
    """A suspicion, its escalation, which ends without a proof, our own side moving, and drift; the runs."""
    streams, watched, ranked = Streams(store.sessions), key(endpoint), key(endpoint, Tier.LOGPROBS)
    asked = key(endpoint, Tier.GREEDY)
    streams.open(endpoint.id, plan([watched, ranked], [asked]), at=AT)
    runs: list[str] = []

    def next_run() -> tuple[str, int]:
        runs.append(begun(store, endpoint, len(runs)))
        return runs[-1], len(runs)

    while not streams.states(endpoint.id).escalation.streams:
        run_id, minutes = next_run()
        evidence = [said(watched, exact(3e-3), minutes), said(ranked, Scores((0.1 + minutes / 50.0,)), minutes)]
        streams.add(run_id, evidence, stack=STACK, at=later(minutes))
    run_id, minutes = next_run()
    streams.add_escalated(run_id, [said(asked, exact(0.9), minutes)], stack=STACK, at=later(minutes))
    streams.close_escalation(endpoint.id, at=later(minutes))
    our_side: str | None = "our side moved: another print"
    events: tuple[Event, ...] = ()
    while Event.DRIFTED not in events:
        run_id, minutes = next_run()
        evidence = [said(watched, exact(3e-3), minutes)]
        added = streams.add(run_id, evidence, stack=STACK, at=later(minutes), our_side=our_side)
        events = added.events
        our_side = None if Event.HELD in events else our_side
    return runs


def change(store: Store, table: type[Table], which: Any, **values: Any) -> None:
    with store.sessions.write() as session:
        assert session.execute(update(table).where(which).values(**values)).rowcount == 1  # type: ignore[attr-defined]


def test_an_epoch_is_the_same_to_the_last_bit(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    an_eventful_epoch(store, endpoint)

    replayed = streams.replay(endpoint.id, 0)

    assert replayed.difference is None
    assert replayed.exact
    assert repr(replayed.final) == repr(streams.states(endpoint.id))
    with store.sessions.read() as session:
        states = session.scalars(select(StreamState)).all()
        kept = session.scalars(select(StreamEvidence)).all()
        looks = session.scalars(select(EndpointLook)).all()
    assert (replayed.evidence, replayed.looks) == (len(kept), len(looks))
    assert {row.state for row in states} >= {encode_state(state) for state in replayed.final.streams.values()}


def test_a_runs_part_is_told_apart(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    runs = an_eventful_epoch(store, endpoint)

    first, last = streams.replay_run(runs[0]).run, streams.replay_run(runs[-1]).run

    assert first is not None
    assert last is not None
    assert first.before.worth == 1.0
    assert first.sequences == (1, 2)
    assert Event.DRIFTED in last.events
    assert repr(last.after) == repr(streams.states(endpoint.id))
    assert (last.before.state.held, last.after.state.held) == ("our side moved: another print", None)
    assert last.before.worth != last.after.worth >= 1_000
    with pytest.raises(UsageError, match="No stream has evidence of run"):
        streams.replay_run(begun(store, endpoint))
    with pytest.raises(UsageError, match="has no epoch 7"):
        streams.replay(endpoint.id, 7)


def test_evidence_that_was_changed_is_found(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    an_eventful_epoch(store, endpoint)
    change(
        store,
        StreamEvidence,
        StreamEvidence.sequence == 3,
        says=plain(exact(0.0031)),
    )

    found = streams.replay(endpoint.id, 0).difference

    assert found is not None
    assert (found.sequence, found.stream) == (3, key(endpoint))
    assert "value " in found.stored


@pytest.mark.parametrize(
    ("table", "sequence", "values"),
    [
        (StreamEvidence, 4, {"value": 17.0}),
        (StreamEvidence, 5, {"state_sha256": "0" * 64}),
        (StreamEvidence, 2, {"at": NOON + 61.0}),
        (EndpointLook, 4, {"worth": 17.0}),
        (EndpointLook, 4, {"level": "drift"}),
        (EndpointLook, 4, {"events": ["drifted"]}),
        (EndpointLook, 4, {"our_side": "it was not", "escalated": 2.0}),
    ],
)
def test_the_first_that_differs_is_named(
    store: Store, endpoint: EndpointRecord, streams: Streams, table: Any, sequence: int, values: dict[str, Any]
) -> None:
    an_eventful_epoch(store, endpoint)
    change(store, table, table.sequence == sequence, **values)
    found = streams.replay(endpoint.id, 0).difference
    assert found is not None
    assert found.sequence == sequence


def test_the_least_bit_of_a_state_counts(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    watched = key(endpoint)
    streams.open(endpoint.id, plan([watched]), at=AT)
    fed_each(store, endpoint, watched, [0.3, 0.7])
    with store.sessions.read() as session:
        row = session.scalars(select(StreamState)).one()
    body = json.loads(row.state)
    bet = body["process"]["bets"][0]
    body["process"]["bets"][0] = bet * (1 + 2**-52)
    change(
        store,
        StreamState,
        StreamState.sequence == 2,
        state=json.dumps(body, separators=(",", ":")),
    )

    found = streams.replay(endpoint.id, 0).difference

    assert found is not None
    assert (found.sequence, found.stream) == (2, watched)


def test_an_algorithm_that_changed_within_an_epoch_is_seen(
    store: Store, endpoint: EndpointRecord, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_eventful_epoch(store, endpoint)
    monkeypatch.setattr(sequential, "_CALIBRATORS", (0.1, 0.2, 0.3, 0.5, 0.7, 0.9000001))
    found = streams.replay(endpoint.id, 0).difference
    assert found is not None
    assert found.sequence == 1


def an_older_form(store: Store, which: Any) -> None:
    """As a program would have left it that wrote states otherwise."""
    with store.sessions.write() as session:
        for row in session.scalars(select(StreamState).where(which)):
            row.version, row.state = 0, json.dumps({"version": 0})


def test_states_of_another_form_are_computed_anew(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    an_eventful_epoch(store, endpoint)
    before = streams.states(endpoint.id)
    an_older_form(store, StreamState.version > 0)
    with store.sessions.write() as session:
        session.execute(update(StreamEvidence).values(state_sha256="0" * 64))

    assert repr(streams.states(endpoint.id)) == repr(before)
    replayed = streams.replay(endpoint.id, 0)
    assert (replayed.exact, replayed.difference) == (False, None)

    added = fed(store, endpoint, said(key(endpoint), exact(0.5), 99), minutes=99)

    untouched = key(endpoint, Tier.LOGPROBS)
    assert repr(added.streams.streams[untouched]) == repr(before.streams[untouched])
    replayed = streams.replay(endpoint.id, 0)
    assert (replayed.exact, replayed.difference) == (True, None)


def test_epochs_that_go_on_from_one_another_are_replayed_each(
    store: Store, endpoint: EndpointRecord, streams: Streams
) -> None:
    watched, drawn = key(endpoint, Tier.LOGPROBS), key(endpoint)
    streams.open(endpoint.id, plan([watched, drawn], stack="stack-0"), at=later(-60))
    streams.change_stack(endpoint.id, plan([watched, drawn]), {watched: baseline()}, at=AT)
    for hour in range(4):
        one = scored(watched, Round(NOON + 3_600.0 * hour + 1.0, 0.2))
        fed(store, endpoint, one, said(drawn, exact(0.2), 60 * hour), minutes=60 * hour)
    streams.expire(endpoint.id, at=later(600))
    for hour in range(11, 14):
        fed(store, endpoint, scored(watched, Round(NOON + 3_600.0 * hour, 0.3)), minutes=60 * hour)
    streams.accept(endpoint.id, {watched: baseline(1)}, note="fine", actor="ada", at=later(900))
    fed(store, endpoint, scored(watched, Round(NOON + DAY, 0.3)), minutes=24 * 60)

    for number in range(4):
        replayed = streams.replay(endpoint.id, number)
        assert (replayed.difference, replayed.exact) == (None, True)
    assert repr(streams.replay(endpoint.id, 3).final) == repr(streams.states(endpoint.id))

    # An epoch that goes on from one whose states have another form now finds them by computing that one too.
    with store.sessions.read() as session:
        renewed = select(StreamEpoch.id).where(StreamEpoch.begun == "renewed").order_by(StreamEpoch.id)
        epoch_id = session.scalars(renewed).first()
    assert epoch_id is not None
    an_older_form(store, StreamState.stream_epoch_id < epoch_id)
    for number, exactly in ((1, False), (2, True)):
        replayed = streams.replay(endpoint.id, number)
        assert (replayed.difference, replayed.exact) == (None, exactly)


def test_likelihoods_are_replayed_bit_for_bit_and_one_that_was_changed_is_found(
    store: Store, endpoint: EndpointRecord, streams: Streams
) -> None:
    watched, hypotheses = key(endpoint), Hypotheses(("int8", "int4"), ("bf16", "m0"), 100)
    streams.open(endpoint.id, plan([watched]), at=AT)
    rng = np.random.default_rng(0)

    def rows() -> tuple[tuple[float, ...], ...]:
        return tuple(map(tuple, np.log(rng.dirichlet(np.ones(5), 4))[:, :4].tolist()))

    for minutes in range(5):
        fed(store, endpoint, said(watched, LogLikelihoods(hypotheses, rows(), True), minutes), minutes=minutes)
    other = LogLikelihoods(replace(hypotheses, clip=1.0), rows())
    with pytest.raises(EvidenceRefusedError, match="other hypotheses need an epoch of their own"):
        fed(store, endpoint, said(watched, other, 9), minutes=9)

    replayed = streams.replay(endpoint.id, 0)
    assert (replayed.evidence, replayed.exact, replayed.difference) == (5, True, None)
    assert repr(replayed.final) == repr(streams.states(endpoint.id))
    state = streams.states(endpoint.id).streams[watched]
    assert {cause.name for cause in state.causes} == {"int8", "int4", "allowed"}

    change(
        store,
        StreamEvidence,
        StreamEvidence.sequence == 3,
        says=plain(LogLikelihoods(hypotheses, rows(), True)),
    )
    found = streams.replay(endpoint.id, 0).difference
    assert found is not None
    assert (found.sequence, found.stream) == (3, watched)


def test_a_baseline_that_was_changed_is_found(store: Store, endpoint: EndpointRecord, streams: Streams) -> None:
    watched = key(endpoint, Tier.LOGPROBS)
    streams.open(endpoint.id, plan([watched], stack="stack-0"), at=later(-60))
    streams.change_stack(endpoint.id, plan([watched]), {watched: baseline()}, at=AT)
    fed(store, endpoint, scored(watched, Round(NOON + 1.0, 0.2)))
    with store.sessions.read() as session:
        row = session.scalars(select(StreamEpoch).where(StreamEpoch.baseline.is_not(None))).one()
    assert row.baseline is not None
    damaged = bytes([row.baseline[0] ^ 1]) + row.baseline[1:]
    change(store, StreamEpoch, StreamEpoch.id == row.id, baseline=damaged)

    found = streams.replay(endpoint.id, 1).difference

    assert found is not None
    assert found.sequence == 1


def test_what_does_not_go_with_what_was_changed_before_it_is_no_failure(
    store: Store, endpoint: EndpointRecord, streams: Streams
) -> None:
    """Without its suspicion there is no escalation that the later evidence could have been added to."""
    an_eventful_epoch(store, endpoint)
    change(store, StreamEvidence, StreamEvidence.sequence == 1, says=plain(exact(1.0)))
    change(store, StreamEvidence, StreamEvidence.sequence == 3, says=plain(exact(1.0)))
    found = streams.replay(endpoint.id, 0).difference
    assert found is not None
    assert found.sequence == 1


def test_evidence_of_another_kind_than_its_stream_takes_is_named(
    store: Store, endpoint: EndpointRecord, streams: Streams
) -> None:
    an_eventful_epoch(store, endpoint)
    change(store, StreamEvidence, StreamEvidence.sequence == 3, says=plain(Scores((0.5,))))
    with pytest.raises(ReplayDiffersError, match="Evidence 3 does not go with what came before it"):
        streams.replay(endpoint.id, 0)
