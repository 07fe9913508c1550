"""New baselines against the first one for ever, in the database: what is compared, kept, told and never pruned."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import select, update

from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.fingerprint import Enrolment
from monitor.drift.first_baseline import AgainstFirst
from monitor.drift.score_stream import Round
from monitor.drift.whitened_scores import WhitenedEnrolment
from monitor.errors import StorageError
from monitor.store import EndpointRecord, Store, enrolments, retention, stream_epochs
from monitor.store.enrolments import Kept
from monitor.store.first_codec import decode_against, encode_against
from monitor.store.retention import Retention
from monitor.store.streams import Streams
from monitor.store.tables import ChangeEvent, Run, StreamEpoch, StreamState
from monitor.store.vocabulary import ChangeKind, EpochEnd
from tests.monitor.drift.rounds import days_of
from tests.monitor.drift.test_first_baseline import PROMPTS, STILL, TOKENS, directions, enrolled
from tests.monitor.store.material import AT, later, start
from tests.monitor.store.streamed import NOON, TODAY, baseline, fed, key, plan, scored
from tests.monitor.store.test_feeding import Made

STEP = 0.03


@pytest.fixture
def streams(store: Store) -> Streams:
    return Streams(store.sessions)


@pytest.fixture
def watched(endpoint: EndpointRecord) -> StreamKey:
    return key(endpoint, Tier.LOGPROBS, "anchors-1")


def higher(by: float, seed: int = 0) -> list[Round]:
    return [Round(one.at, one.score + by) for one in baseline(seed)]


def accept(streams: Streams, stream: StreamKey, rounds: list[Round], minutes: float) -> None:
    streams.accept(stream.endpoint, {stream: rounds}, note="announced", actor="ada", at=later(minutes))


def against(streams: Streams, stream: StreamKey) -> list[AgainstFirst | None]:
    return [one.against_first.get(stream) for one in streams.epochs(stream.endpoint)]


def told(store: Store) -> list[str]:
    with store.sessions.read() as session:
        texts = session.scalars(select(ChangeEvent.text).where(ChangeEvent.kind == ChangeKind.BASELINE))
        return [text for text in texts if "the first baseline" in text]


def test_a_ramp_of_accepted_steps_is_told_against_the_first(store: Store, streams: Streams, watched: StreamKey) -> None:
    streams.open(watched.endpoint, plan([watched]), baselines={watched: baseline()}, at=AT)
    for number in range(1, 7):
        accept(streams, watched, higher(STEP * number, seed=number), number)

    nothing, *found = against(streams, watched)

    assert nothing is None
    assert all(one is not None for one in found)
    moves = [one.level for one in found if one is not None]
    assert [one.first for one in moves if one is not None] == [moves[0].first if moves[0] else None] * 6
    assert [one.comparison for one in found if one is not None] == [1, 2, 3, 4, 5, 6]
    assert [one.level_at for one in found if one is not None] == [baseline()[-1].at] * 6
    flags = [one.told for one in found if one is not None]
    assert flags == sorted(flags)
    assert (flags[0], flags[-1]) == (False, True)
    assert len(told(store)) == sum(flags)
    assert told(store)[0].startswith("T1 anchors-1: it has moved since the first baseline (comparison ")


def test_what_an_unchanged_endpoint_is_rebased_to_is_kept_and_not_told(
    store: Store, streams: Streams, watched: StreamKey
) -> None:
    streams.open(watched.endpoint, plan([watched]), baselines={watched: baseline()}, at=AT)
    for number in range(1, 9):
        accept(streams, watched, baseline(number), number)
    assert [one.told for one in against(streams, watched) if one is not None] == [False] * 8
    assert told(store) == []


def test_levels_found_within_an_epoch_are_compared_when_the_next_one_opens(
    store: Store, endpoint: EndpointRecord, streams: Streams, watched: StreamKey
) -> None:
    """The first epoch finds its own; the second is begun with what settled, and finds higher ones within."""
    rng = np.random.default_rng(5)
    streams.open(endpoint.id, plan([watched]), at=AT)
    first = days_of(rng, 15, first=TODAY + 1, asked=100)[::6]
    for one in first:
        fed(store, endpoint, scored(watched, one), minutes=(one.at - NOON) / 60.0)
    assert streams.states(endpoint.id).streams[watched].calibrated
    new = days_of(rng, 19, first=TODAY + 16, asked=100, moved=0.2)[::6]
    days = 4 * 4
    streams.accept(endpoint.id, {watched: new[:days]}, note="new", actor="ada", at=later(20 * 24 * 60))
    for one in new[days:]:
        fed(store, endpoint, scored(watched, one), minutes=(one.at - NOON) / 60.0)
    assert streams.states(endpoint.id).streams[watched].calibrated

    streams.expire(endpoint.id, at=later(40 * 24 * 60))
    streams.expire(endpoint.id, at=later(70 * 24 * 60))

    nothing, at_once, later_on, as_before = against(streams, watched)
    assert (nothing, as_before) == (None, None)
    assert at_once is not None
    assert later_on is not None
    assert (at_once.level is not None, later_on.level is not None) == (True, True)
    if at_once.level is not None and later_on.level is not None:
        assert (at_once.level.days, later_on.level.days) == ((14, 4), (14, 14))
        assert at_once.level.first == later_on.level.first
    assert (at_once.comparison, later_on.comparison) == (1, 2)
    assert later_on.told
    for number in range(4):
        assert streams.replay(endpoint.id, number).difference is None


def enrol(store: Store, stream: StreamKey, enrolment: Enrolment, minutes: float) -> None:
    """In place of the one that was open, as a run does that completes it."""
    run_id = store.begin_run(start(stream.endpoint), at=later(minutes))
    whitened = WhitenedEnrolment(enrolment, (None,) * len(enrolment.prompts))
    with store.sessions.write() as session:
        run = session.get_one(Run, run_id)
        enrolments.keep(session, run, Kept("words/1", whitened, later(minutes)), later(minutes))


def re_enrolled(store: Store, stream: StreamKey, enrolment: Enrolment, rounds: list[Round], minutes: float) -> None:
    enrol(store, stream, enrolment, minutes)
    with store.sessions.write() as session:
        planned = stream_epochs.plan_of(session, stream.endpoint)
        stream_epochs.turn(session, stream.endpoint, EpochEnd.REPLANNED, planned, {stream: rounds}, later(minutes))


def test_scores_of_another_stack_or_enrolment_are_not_compared_and_enrolments_always_are(
    store: Store, streams: Streams, watched: StreamKey
) -> None:
    enrol(store, watched, STILL, -1)
    streams.open(watched.endpoint, plan([watched]), baselines={watched: baseline()}, at=AT)
    streams.change_stack(watched.endpoint, plan([watched], stack="stack-2"), {watched: higher(0.4)}, at=later(1))
    streams.replan(watched.endpoint, plan([watched], stack="stack-2"), at=later(2))
    re_enrolled(store, watched, enrolled(directions(0, 0.071), first=20_100.0), baseline(3), 3)
    accept(streams, watched, baseline(4), 4)

    found = against(streams, watched)

    assert found[:3] == [None, None, None]
    of_means, same_enrolment = found[3:]
    assert of_means is not None
    assert (of_means.level, of_means.told, of_means.means_at) == (None, True, STILL.last_at)
    assert of_means.means is not None
    assert of_means.means.value == pytest.approx(0.071, rel=0.05)
    assert "times what int8 would make" in str(of_means)
    assert same_enrolment is not None
    assert (same_enrolment.means, same_enrolment.told) == (None, False)
    for number in range(5):
        assert streams.replay(watched.endpoint, number).difference is None


def test_an_enrolment_is_told_of_once_and_by_its_own_tier(
    store: Store, endpoint: EndpointRecord, streams: Streams, watched: StreamKey
) -> None:
    odds, inputs = key(endpoint, Tier.LOGPROBS, "anchors-odds"), key(endpoint, Tier.BORDER, "inputs-1")
    keys = [odds, inputs, watched]
    enrol(store, watched, STILL, -1)
    streams.open(endpoint.id, plan(keys), baselines=dict.fromkeys(keys, baseline()), at=AT)
    enrol(store, watched, enrolled(directions(0, 0.071), first=20_100.0), 1)
    streams.accept(endpoint.id, dict.fromkeys(keys, higher(0.3, 1)), note="new", actor="ada", at=later(1))

    by_stream = streams.epochs(endpoint.id)[1].against_first

    # Border inputs are not scored against an enrolment, and go on with their first baseline.
    assert set(by_stream) == {watched, inputs}
    assert (by_stream[watched].level, by_stream[inputs].means) == (None, None)
    assert by_stream[inputs].level is not None


def test_a_new_stack_that_scores_the_first_baseline_too_hides_nothing(
    store: Store, streams: Streams, watched: StreamKey
) -> None:
    streams.open(watched.endpoint, plan([watched]), baselines={watched: baseline()}, at=AT)
    accept(streams, watched, higher(0.05, 1), 1)
    moved = {watched: higher(0.4)}
    streams.change_stack(
        watched.endpoint, plan([watched], stack="stack-2"), moved, firsts={watched: baseline()}, at=later(2)
    )
    accept(streams, watched, higher(0.4, 3), 3)
    at_once, later_on = against(streams, watched)[2:]
    assert at_once is not None
    assert later_on is not None
    assert (at_once.told, later_on.told) == (True, True)
    assert at_once.level_at == later_on.level_at == baseline()[-1].at
    assert [text.split("comparison ")[1][0] for text in told(store)] == ["2", "3"]
    for number in range(4):
        assert streams.replay(watched.endpoint, number).difference is None


def test_steps_of_enrolments_are_told_together(store: Store, streams: Streams, watched: StreamKey) -> None:
    step, rng = directions(2, 0.014), np.random.default_rng(0)

    def after(number: int) -> Enrolment:
        noisy = number * step + 0.002 * rng.standard_normal((PROMPTS, TOKENS))
        return enrolled(noisy, first=20_000.0 + 30 * number)

    enrol(store, watched, after(0), -1)
    streams.open(watched.endpoint, plan([watched]), baselines={watched: baseline()}, at=AT)
    for number in range(1, 10):
        re_enrolled(store, watched, after(number), baseline(number), number)
    flags = [one.told for one in against(streams, watched) if one is not None]
    assert len(flags) == 9
    assert flags == sorted(flags)
    assert (flags[0], flags[-1]) == (False, True)
    assert "nat away" in told(store)[0]


def test_what_a_person_accepted_is_compared_with_the_first_enrolment_once_it_is_enrolled(
    store: Store, endpoint: EndpointRecord, streams: Streams
) -> None:
    """By the runs of checks, as the service has them."""
    made = Made(store, endpoint)
    made.runs(120, feeds=False)
    made.runs(2)
    made.moved = 0.1
    made.streams.accept(endpoint.id, {}, note="they said so", actor="ada", at=made.at)
    made.runs(110, feeds=False)
    made.runs(2)
    first, accepted, anew = streams.epochs(endpoint.id)
    assert (first.against_first, accepted.against_first) == ({}, {})
    (found,) = anew.against_first.values()
    assert found.told
    assert found.means is not None
    # 0.1 times a normal number.
    assert found.means.value == pytest.approx(0.1 * np.sqrt(2.0 / np.pi), rel=0.2)


def test_the_first_enrolment_and_baseline_outlive_everything(
    store: Store, streams: Streams, watched: StreamKey
) -> None:
    enrol(store, watched, STILL, -1)
    streams.open(watched.endpoint, plan([watched]), baselines={watched: baseline()}, at=AT)
    re_enrolled(store, watched, enrolled(directions(0, 0.071), first=20_100.0), baseline(1), 1)
    before = against(streams, watched)
    kept, long_after = Retention(store.sessions), AT + timedelta(days=40_000)
    for what in (retention.bodies, retention.samples, retention.points, retention.hours, retention.news):
        while kept.prune(what, long_after, long_after):
            pass
    assert against(streams, watched) == before
    assert streams.replay(watched.endpoint, 1).difference is None
    re_enrolled(store, watched, enrolled(directions(0, 0.073), first=20_200.0), baseline(2), 2)
    (*_, last) = against(streams, watched)
    assert last is not None
    assert (last.told, last.means_at) == (True, STILL.last_at)
    accept(streams, watched, higher(0.3, 3), 3)
    (*_, last) = against(streams, watched)
    assert last is not None
    assert last.level is not None
    assert last.told


def test_a_comparison_that_was_changed_is_found_by_replay(store: Store, streams: Streams, watched: StreamKey) -> None:
    streams.open(watched.endpoint, plan([watched]), baselines={watched: baseline()}, at=AT)
    accept(streams, watched, higher(0.3, 1), 1)
    assert streams.replay(watched.endpoint, 1).difference is None
    (_, found) = against(streams, watched)
    assert found is not None
    with store.sessions.write() as session:
        session.execute(
            update(StreamEpoch)
            .where(StreamEpoch.against_first.is_not(None))
            .values(against_first=encode_against(replace(found, comparison=2)))
        )
    difference = streams.replay(watched.endpoint, 1).difference
    assert difference is not None
    assert (difference.sequence, difference.stream) == (0, watched)
    assert "against the first baseline" in difference.stored


def test_earlier_states_of_another_form_are_computed_anew_for_it(
    store: Store, endpoint: EndpointRecord, streams: Streams, watched: StreamKey
) -> None:
    streams.open(endpoint.id, plan([watched]), baselines={watched: baseline()}, at=AT)
    fed(store, endpoint, scored(watched, Round(NOON + 1.0, 0.1)))
    with store.sessions.write() as session:
        session.execute(update(StreamState).values(version=0, state='{"version":0}'))
    accept(streams, watched, higher(0.3, 1), 1)
    (_, found) = against(streams, watched)
    assert found is not None
    assert found.told


def test_a_comparison_comes_back_bit_for_bit_and_damage_is_refused(
    store: Store, streams: Streams, watched: StreamKey
) -> None:
    streams.open(watched.endpoint, plan([watched]), baselines={watched: baseline()}, at=AT)
    accept(streams, watched, higher(0.3, 1), 1)
    enrol(store, watched, STILL, 2)
    streams.replan(watched.endpoint, plan([watched]), at=later(2))
    re_enrolled(store, watched, enrolled(directions(0, 0.05)), baseline(2), 3)
    _, of_level, _, of_means = against(streams, watched)
    for one in (of_level, of_means):
        assert one is not None
        assert repr(decode_against(encode_against(one))) == repr(one)
    for text in ("", "{}", '{"level":1,"means":null}', "null"):
        with pytest.raises(StorageError, match="damaged"):
            decode_against(text)


def test_streams_of_other_tiers_are_not_held_up(endpoint: EndpointRecord, streams: Streams) -> None:
    drawn = key(endpoint)
    streams.open(endpoint.id, plan([drawn]), at=AT)
    streams.accept(endpoint.id, {}, note="fine", actor="ada", at=later(1))
    streams.expire(endpoint.id, at=later(2))
    assert against(streams, drawn) == [None, None, None]
