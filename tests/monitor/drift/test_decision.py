from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.decision import (
    Average,
    EndpointState,
    Event,
    Level,
    closed,
    endpoint_verdict,
    look,
    our_side,
    stream_verdict,
    weights,
)
from monitor.drift.evidence import Combining, Evidence, ExactP, Inapplicable, Null, Scores, StreamKey, Tier
from monitor.drift.rule import Verdict
from monitor.drift.score_stream import StreamRule
from monitor.drift.streams import Epoch, StreamState, fold

NEW = EndpointState()


def proven(value: float) -> Average:
    return Average(value, value)


def stream(tier: Tier = Tier.SAMPLING, *, p: float | None = None, rounds: int = 1) -> StreamState:
    key = StreamKey("e1", tier, "1")
    state = StreamState(key, StreamRule(), Epoch(0, 0.0, "stack-1"))
    if p is None:
        return state
    says = ExactP(p, Null.REFERENCE, Combining.MULTIPLY)
    return fold(state, [Evidence(key, place, says) for place in range(rounds)])


@pytest.mark.parametrize(
    ("value", "level", "events"),
    [
        (19.9, Level.QUIET, ()),
        (20.0, Level.SHOWN, (Event.SHOWN,)),
        (100.0, Level.SUSPECT, (Event.SUSPECTED,)),
        (1_000.0, Level.DRIFT, (Event.DRIFTED,)),
    ],
)
def test_an_endpoint_is_shown_suspected_and_alarmed(value: float, level: Level, events: tuple[Event, ...]) -> None:
    looked = look(NEW, proven(value))
    assert (looked.state.level, looked.events) == (level, events)
    # The same value again is no news.
    assert look(looked.state, proven(value)).events == ()


def test_drift_stays_and_a_suspicion_goes_when_nothing_is_shown() -> None:
    drifted = look(NEW, proven(2_000.0)).state
    assert look(drifted, proven(0.1)).state.level is Level.DRIFT
    suspected = look(NEW, proven(150.0)).state
    assert look(suspected, proven(150.0), 0.5).state.level is Level.SUSPECT
    assert look(suspected, proven(1.0), 0.1).events == (Event.QUIETED,)


def test_an_escalation_proves_with_what_was_won_before_it() -> None:
    suspected = look(NEW, proven(120.0)).state
    assert (suspected.units, suspected.staked) == (0.5, 60.0)
    assert look(suspected, proven(120.0), 10.0).state.level is Level.SUSPECT
    assert look(suspected, proven(120.0), 16.0).events == (Event.DRIFTED,)
    lost = closed(suspected, proven(120.0), 0.0)
    assert (lost.units, lost.staked) == (0.5, 0.0)
    # Half of the winnings are gone with it.
    assert lost.worth(120.0, 1.0) == 60.0


@settings(max_examples=50)
@given(st.floats(0.1, 5_000.0), st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.1, 40.0), st.booleans())
def test_no_move_between_processes_gains_on_average(
    price: float, up: float, chance: float, escalated: float, close: bool
) -> None:
    state = look(NEW, proven(price)).state
    if close:
        state = closed(state, proven(price), escalated)
    before = state.worth(price, escalated)
    # A fair move of the price, and one of the escalation, each of mean 1.
    moves = ((up / chance, chance), ((1.0 - up) / (1.0 - chance), 1.0 - chance))
    for of_price, of_escalation in ((True, False), (False, True)):
        mean = sum(
            share * state.worth(price * (move if of_price else 1.0), escalated * (move if of_escalation else 1.0))
            for move, share in moves
        )
        assert mean == pytest.approx(before)


@settings(max_examples=50)
@given(st.floats(0.1, 5_000.0), st.floats(0.0, 40.0))
def test_closing_an_escalation_neither_makes_nor_loses(price: float, escalated: float) -> None:
    state = look(NEW, proven(price)).state
    assert closed(state, proven(price), escalated).worth(price, 1.0) == pytest.approx(state.worth(price, escalated))


def test_ranks_alone_are_shown_at_most() -> None:
    looked = look(NEW, Average(value=5_000.0, proven=1.0))
    assert looked.events == (Event.SHOWN,)
    assert looked.state.staked == 0.0


def test_what_our_side_moved_is_held_until_it_has_not() -> None:
    moved = our_side(None, "print-1", "print-2")
    held = look(NEW, proven(4_000.0), our_side=moved)
    assert held.state.level is Level.SUSPECT
    assert held.events == (Event.HELD, Event.SUSPECTED)
    assert held.state.held is not None
    assert held.state.held.startswith("our side moved")
    assert look(held.state, proven(4_000.0), our_side=moved).events == ()
    assert look(held.state, proven(1.0), our_side=None).state.held is None
    assert look(held.state, proven(4_000.0), our_side=None).events == (Event.DRIFTED,)


def test_the_control_is_a_fingerprint_or_a_stream() -> None:
    assert our_side(None, "print-1", "print-1") is None
    assert our_side(stream(), "print-1", "print-1") is None
    assert our_side(stream(p=1e-6, rounds=4), "print-1", "print-1") is not None


def test_tiers_are_weighted_by_what_the_endpoint_supports() -> None:
    keys = [StreamKey("e1", tier, "1") for tier in (Tier.LOGPROBS, Tier.GREEDY, Tier.SAMPLING)]
    tools = [StreamKey("e1", Tier.CAPABILITY, name) for name in ("tools", "evals")]
    weighing = weights([*keys, *tools])
    assert sum(weighing.values()) == pytest.approx(1.0)
    assert weighing[keys[0]] > 0.5
    assert weighing[tools[0]] == weighing[tools[1]] == weighing[keys[1]] / 2
    assert weights(keys[:1]) == {keys[0]: 1.0}
    assert weights([]) == {}


def test_what_is_only_shown_takes_little_from_what_may_alarm() -> None:
    anchors, cases = StreamKey("e1", Tier.LOGPROBS, "1"), StreamKey("e1", Tier.CAPABILITY, "cases")
    shown = {StreamKey("e1", Tier.CAPABILITY, name) for name in ("tools", "evals", "loops")}
    alone, beside = weights([anchors, cases]), weights([anchors, cases, *shown], shown)
    assert sum(beside.values()) == pytest.approx(1.0)
    assert beside[cases] > 0.8 * alone[cases]
    assert sum(beside[key] for key in shown) < beside[cases]
    assert sum(weights(shown, shown).values()) == pytest.approx(1.0)


def test_an_average_counts_what_is_not_calibrated_as_one_where_drift_is_proven() -> None:
    ranked = StreamKey("e1", Tier.LOGPROBS, "1")
    early = fold(
        StreamState(ranked, StreamRule(), Epoch(0, 0.0, "stack-1")),
        [Evidence(ranked, hour * 3_600.0, Scores((hour / 100,))) for hour in range(40)],
    )
    sampled = stream(p=1e-6, rounds=4)
    average = Average.of([early, sampled], {early.key: 0.5, sampled.key: 0.5})
    assert early.value > 100
    assert average.value == (early.value + sampled.value) / 2
    assert average.proven == (1.0 + sampled.value) / 2
    assert stream_verdict(early) is Verdict.INCONCLUSIVE


def test_verdicts_of_streams_and_of_their_endpoint() -> None:
    fine, suspect, drifted = stream(p=0.6), stream(p=3e-3, rounds=4), stream(p=1e-6, rounds=5)
    none = stream(Tier.BORDER).after(Evidence(StreamKey("e1", Tier.BORDER, "1"), 0.0, Inapplicable("no border inputs")))
    assert [stream_verdict(one) for one in (fine, suspect, drifted, none, stream())] == [
        Verdict.OK,
        Verdict.SUSPECT,
        Verdict.DRIFT,
        Verdict.INAPPLICABLE,
        Verdict.INCONCLUSIVE,
    ]
    assert endpoint_verdict(NEW, [fine, none]) is Verdict.OK
    assert endpoint_verdict(NEW, [none]) is Verdict.INAPPLICABLE
    assert endpoint_verdict(NEW, [stream(), none]) is Verdict.INCONCLUSIVE
    assert endpoint_verdict(NEW, []) is Verdict.INCONCLUSIVE
    # Drift is the endpoint's where its average says so.
    assert endpoint_verdict(NEW, [drifted, none]) is Verdict.INCONCLUSIVE
    assert endpoint_verdict(replace(NEW, level=Level.SUSPECT), [fine]) is Verdict.SUSPECT
    assert endpoint_verdict(replace(NEW, level=Level.DRIFT), [fine]) is Verdict.DRIFT


def test_an_unchanged_endpoint_seldom_drifts_whatever_is_escalated() -> None:
    rng = np.random.default_rng(0)
    drifted = 0
    for _ in range(400):
        state, price, escalated = NEW, 1.0, 1.0
        for _ in range(120):
            price *= float(rng.choice([0.5, 1.5]))
            if state.staked:
                escalated *= float(rng.choice([0.25, 1.75]))
            state = look(state, proven(price), escalated).state
        drifted += state.level is Level.DRIFT
    assert drifted <= 4
