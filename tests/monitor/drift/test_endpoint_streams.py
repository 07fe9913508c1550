from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.begun import Begun
from monitor.drift.decision import Average, EndpointState, Event, Level, look, weights
from monitor.drift.endpoint_streams import EndpointStreams, opening
from monitor.drift.evidence import Combining, Evidence, ExactP, Null, Scores, StreamKey, Tier
from monitor.drift.levels import DAY
from monitor.drift.score_stream import StreamRule
from monitor.drift.streams import Closing, Epoch, StreamState, fold
from tests.monitor.drift.rounds import days_of

EPOCH = Epoch(0, 20_000 * DAY, "stack-1")
RULE = StreamRule(seed=7)
T1, T4 = StreamKey("e1", Tier.LOGPROBS, "anchors-1"), StreamKey("e1", Tier.SAMPLING, "draws-1")
T3 = StreamKey("e1", Tier.GREEDY, "alone-1")
# Of these p the fourth makes a suspicion, and none a drift.
SUSPECTED = (3e-3,) * 4


def new(key: StreamKey, rule: StreamRule = RULE) -> StreamState:
    return StreamState(key, rule, EPOCH)


def opened(*keys: StreamKey, planned: tuple[StreamKey, ...] = (T3,)) -> EndpointStreams:
    return EndpointStreams.opened(EPOCH, [new(key) for key in keys], dict.fromkeys(planned, RULE))


def said(key: StreamKey, p: float, place: int = 0) -> Evidence:
    return Evidence(key, EPOCH.opened_at + place, ExactP(p, Null.REFERENCE, Combining.MULTIPLY))


def fed(streams: EndpointStreams, *p_values: float) -> EndpointStreams:
    for place, p in enumerate(p_values):
        streams, _ = streams.after(said(T4, p, place)).looked(EPOCH.opened_at + place)
    return streams


def test_a_look_is_that_of_the_streams_average_by_weight() -> None:
    streams = opened(T4, T1).after(said(T4, 1e-5)).after(said(T4, 1e-5, 1))

    _, found = streams.looked(EPOCH.opened_at)

    weighing = weights([T1, T4])
    average = Average.of(list(streams.streams.values()), weighing)
    assert found.average == average == streams.average
    assert found.worth == average.proven == streams.worth
    assert found.events == look(EndpointState(), average).events


def test_the_order_in_which_streams_are_named_changes_no_bit() -> None:
    keys = [StreamKey("e1", tier, name) for tier in Tier for name in ("a", "b", "c")]
    evidence = [said(key, 0.01 + 0.03 * place, place) for place, key in enumerate(keys)]
    found = []
    for named in (keys, keys[::-1]):
        streams = EndpointStreams.opened(EPOCH, [new(key) for key in named], {})
        for one in evidence:
            streams = streams.after(one)
        found.append(streams.average)
    assert repr(found[0]) == repr(found[1])


def test_a_suspicion_opens_an_escalation_whose_evidence_proves() -> None:
    suspected = fed(opened(T4), *SUSPECTED)
    assert suspected.state.level is Level.SUSPECT
    assert suspected.state.staked > 0.0
    assert list(suspected.escalation.streams) == [T3]
    assert suspected.escalation.value == 1.0

    place, proven = 0, suspected
    while proven.state.level is Level.SUSPECT:
        place += 1
        proven, found = proven.after_escalated(said(T3, 1e-4, place)).looked(EPOCH.opened_at + place)
    assert found.events == (Event.DRIFTED,)
    # The streams' own evidence is what it was.
    assert proven.average == suspected.average


def test_an_escalation_that_found_nothing_gives_its_stake_back_and_the_next_is_another() -> None:
    suspected = fed(opened(T4), *SUSPECTED)
    lost = suspected
    for place in range(5):
        lost = lost.after_escalated(said(T3, 0.9, place))
    assert lost.worth < suspected.worth

    over = lost.without_escalation()

    assert (over.state.staked, dict(over.escalation.streams)) == (0.0, {})
    assert over.worth == pytest.approx(lost.worth)
    again = over.without_escalation()
    assert again.worth == pytest.approx(over.worth)
    quiet = over
    place = 5
    while quiet.state.level is not Level.QUIET:
        quiet, _ = quiet.after(said(T4, 0.999, place)).looked(EPOCH.opened_at + place)
        place += 1
    while not quiet.state.staked:
        quiet, _ = quiet.after(said(T4, 0.02, place)).looked(EPOCH.opened_at + place)
        place += 1
    assert quiet.escalation.number == 2
    assert quiet.escalation.value == 1.0


def test_without_a_planned_escalation_nothing_stays_staked() -> None:
    bare, planned = fed(opened(T4, planned=()), *SUSPECTED), fed(opened(T4), *SUSPECTED)
    assert (bare.state.level, bare.state.staked) == (Level.SUSPECT, 0.0)
    assert bare.worth == pytest.approx(planned.worth)
    # What comes counts in full, as no half of it waits for answers that nobody asks for.
    assert fed(bare, 0.02).worth > fed(planned, 0.02).worth


@settings(max_examples=30)
@given(st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=12), st.lists(st.floats(1e-4, 1.0), max_size=6))
def test_no_look_and_no_closing_gains(p_values: list[float], escalated: list[float]) -> None:
    streams = opened(T4)
    for place, p in enumerate(p_values):
        streams = streams.after(said(T4, p, place))
        before = streams.worth
        streams, _ = streams.looked(EPOCH.opened_at + place)
        assert streams.worth == pytest.approx(before)
    for place, p in enumerate(escalated if streams.escalation.streams else ()):
        streams = streams.after_escalated(said(T3, p, place))
    before = streams.worth
    assert streams.without_escalation().worth == pytest.approx(before)


def test_an_epoch_ends_by_the_shortest_of_its_streams_and_by_our_stack() -> None:
    days = StreamRule(epoch_days=10)
    streams = EndpointStreams.opened(EPOCH, [new(T1), new(T4, days)], {})
    assert streams.ended(20_009.9 * DAY, "stack-1") is None
    assert streams.ended(20_010 * DAY, "stack-1") is Closing.EXPIRED
    assert streams.ended(20_001 * DAY, "stack-2") is Closing.OUR_STACK


def test_a_stream_opens_new_renewed_or_rebased() -> None:
    rounds = days_of(np.random.default_rng(2), 14)
    moved = days_of(np.random.default_rng(3), 2, first=20_014, moved=1.0)
    prior = fold(new(T1), [Evidence(T1, one.at, Scores((one.score,))) for one in (*rounds, *moved)])
    following = StreamState(T1, RULE, EPOCH.next(20_016 * DAY, "stack-1"))
    assert prior.value >= 1_000

    assert opening(Begun.NEW, following, None, None) is following
    assert opening(Begun.RENEWED, following, prior, None) == prior.renewed(following.epoch)
    assert opening(Begun.REBASED, following, prior, rounds) == prior.rebased(following.epoch, rounds)
    assert opening(Begun.NEW, following, None, rounds).calibrated
    for begun in (Begun.RENEWED, Begun.REBASED):
        with pytest.raises(ValueError, match="has no state before epoch 1"):
            opening(begun, following, None, rounds)


def test_evidence_of_a_stream_that_is_not_watched_is_an_error() -> None:
    with pytest.raises(KeyError):
        opened(T4).after(said(T1, 0.5))
    with pytest.raises(KeyError):
        opened(T4).after_escalated(said(T3, 0.5))
