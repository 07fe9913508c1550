"""Log-likelihoods as a stream: its mean under each allowed hypothesis, whenever one stops, however rounds are cut."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.candidates import ALLOWED, Hypotheses, ratio_paths
from monitor.drift.decision import Average, Event, Level, stream_verdict
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import Evidence, LogLikelihoods, Scores, StreamKey, Tier
from monitor.drift.lawful_replays import counts_toward_alarms
from monitor.drift.levels import DAY
from monitor.drift.likelihood_stream import LikelihoodStream
from monitor.drift.observation import FloatArray
from monitor.drift.rule import Verdict
from monitor.drift.score_stream import StreamRule
from monitor.drift.streams import Epoch, StreamState, fold

KEY = StreamKey("e1", Tier.SAMPLING, "tokens-1")
FIRST = Epoch(0, 20_000 * DAY, "stack-1")
NEW = StreamState(KEY, StreamRule(), FIRST)
# Two candidates, and a profile with a member of its cloud, over an alphabet of three.
CHANCES = np.array([[0.2, 0.2, 0.6], [0.6, 0.1, 0.3], [0.4, 0.5, 0.1], [0.45, 0.45, 0.1]])
LENGTH = 4
SEQUENCES = np.array(list(itertools.product(range(3), repeat=LENGTH)))
LOGS = np.moveaxis(np.log(CHANCES[:, SEQUENCES]), 0, -1)
SMALL = Hypotheses(("int8", "template"), ("bf16", "member"), horizon=LENGTH)


def said(hypotheses: Hypotheses, values: FloatArray, *, calibrated: bool = False) -> LogLikelihoods:
    return LogLikelihoods(hypotheses, tuple(map(tuple, values.tolist())), calibrated)


def told(hypotheses: Hypotheses, rounds: list[FloatArray], *, calibrated: bool = False) -> list[Evidence]:
    return [
        Evidence(KEY, FIRST.opened_at + place, said(hypotheses, values, calibrated=calibrated))
        for place, values in enumerate(rounds)
    ]


cuts = st.sets(st.integers(1, LENGTH - 1)).map(sorted)


@settings(max_examples=25, deadline=None)
@given(cuts, st.integers(0, len(SEQUENCES) - 1))
def test_tokens_may_be_dealt_to_rounds_in_any_way(places: list[int], which: int) -> None:
    cut, whole = (fold(NEW, told(SMALL, np.split(LOGS[which], at))) for at in (places, []))
    assert isinstance(cut.process, LikelihoodStream)
    assert repr(cut.process) == repr(whole.process)
    assert cut.process.ratio.log_value == ratio_paths(SMALL, LOGS)[which, -1]


@settings(max_examples=10, deadline=None)
@given(cuts, st.floats(0.3, 4.0))
def test_its_mean_is_at_most_one_under_each_allowed_one_whenever_one_stops_after_a_round(
    places: list[int], enough: float
) -> None:
    """Exactly, by adding up every sequence of the alphabet."""
    stopped = []
    for logs in LOGS:
        state = NEW
        for evidence in told(SMALL, np.split(logs, places), calibrated=True):
            state = state.after(evidence)
            if state.value >= enough:
                break
        stopped.append(state.value)
    for column in (2, 3):
        assert float(np.exp(LOGS[..., column].sum(axis=1)) @ np.array(stopped)) <= 1.0


def test_without_the_maximum_chosen_anew_it_would_be_above_one() -> None:
    """What the test above would catch: a denominator that stays with the likeliest allowed one of the first token."""
    first = np.where(LOGS[:, 0, 2] >= LOGS[:, 0, 3], 2, 3)
    kept = np.take_along_axis(LOGS.sum(axis=1), first[:, np.newaxis], axis=1)[:, 0]
    ratios = np.exp(np.logaddexp.reduce(LOGS[..., :2].sum(axis=1), axis=1) - np.log(2.0) - kept)
    assert max(float(np.exp(LOGS[..., column].sum(axis=1)) @ ratios) for column in (2, 3)) > 1.0


def streams_of(
    rng: np.random.Generator, drawn_by: FloatArray, columns: FloatArray, size: tuple[int, ...]
) -> FloatArray:
    drawn = rng.choice(columns.shape[1], size=size, p=drawn_by)
    return np.moveaxis(np.log(columns[:, drawn]), 0, -1)


def vocabulary(rng: np.random.Generator) -> FloatArray:
    """A candidate, and a profile with three members of its cloud; of 20 tokens."""
    logits = rng.standard_normal(20)
    steps = np.array([0.6, 0.0, 0.05, 0.05, 0.05])[:, np.newaxis] * rng.standard_normal((5, 20))
    weights = np.exp(logits + steps)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


WIDE = Hypotheses(("int8",), ("bf16", "m0", "m1", "m2"), horizon=400)
A_ROUND = 20


@pytest.mark.parametrize("column", [1, 3])
def test_lawful_epochs_seldom_reach_twenty_after_any_round(column: int) -> None:
    rng = np.random.default_rng(4)
    chances = vocabulary(rng)
    paths = ratio_paths(WIDE, streams_of(rng, chances[column], chances, (2_000, 400)))[:, A_ROUND - 1 :: A_ROUND]
    assert np.mean(paths.max(axis=1) >= np.log(20.0)) <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / 2_000)


def after_rounds(logs: FloatArray, *, calibrated: bool) -> tuple[EndpointStreams, list[Event]]:
    now = EndpointStreams.opened(FIRST, [NEW], {})
    events: list[Event] = []
    for evidence in told(WIDE, np.split(logs, len(logs) // A_ROUND), calibrated=calibrated):
        now, found = now.after(evidence).looked(evidence.at)
        events += found.events
    return now, events


def test_it_alarms_only_where_lawful_replays_showed_that_it_may() -> None:
    rng = np.random.default_rng(0)
    chances = vocabulary(rng)
    members = {name: streams_of(rng, chances[at], chances, (2_000, 400)) for at, name in enumerate(WIDE.allowed, 1)}
    inside = counts_toward_alarms({name: ratio_paths(WIDE, logs) for name, logs in members.items()}, alpha=0.05)
    # Half of the way to the candidate, and so no member of the cloud.
    halfway = (chances[0] + chances[1]) / 2.0
    outside = counts_toward_alarms(
        {"nearer": ratio_paths(WIDE, streams_of(rng, halfway, chances, (400, 400)))}, alpha=0.05
    )
    assert (inside.counts, outside.counts) == (True, False)
    changed = streams_of(rng, chances[0], chances, (400,))

    proven, events = after_rounds(changed, calibrated=inside.counts)
    ranked, none = after_rounds(changed, calibrated=outside.counts)

    assert events[-1] is Event.DRIFTED
    assert proven.state.level is Level.DRIFT
    assert (ranked.state.level, none) == (Level.QUIET, [])
    assert ranked.average == Average(1.0, 1.0)
    state = ranked.streams[KEY]
    assert state.value == proven.streams[KEY].value >= 1_000
    assert stream_verdict(state) is Verdict.INCONCLUSIVE
    assert state.causes[0].name == "int8"
    assert NEW.causes == ()


def test_a_lawful_stream_believes_in_no_change() -> None:
    rng = np.random.default_rng(1)
    chances = vocabulary(rng)
    now, events = after_rounds(streams_of(rng, chances[1], chances, (400,)), calibrated=True)
    assert (now.state.level, events) == (Level.QUIET, [])
    assert now.streams[KEY].causes[0].name in {ALLOWED, "int8"}
    assert now.streams[KEY].value < 1.0


def test_what_began_as_a_ranking_stays_one_for_the_epoch_and_doubt_counts_at_once() -> None:
    rounds = np.split(LOGS[7], LENGTH)
    for flags, proves in (((True, True), True), ((False, True), False), ((True, False), False)):
        evidence = [
            Evidence(KEY, place, said(SMALL, rounds[place], calibrated=flag)) for place, flag in enumerate(flags)
        ]
        state = fold(NEW, evidence)
        assert state.calibrated is proves
    again = state.renewed(FIRST.next(1.0, "stack-1")).after(Evidence(KEY, 9.0, said(SMALL, rounds[0], calibrated=True)))
    assert again.calibrated


def test_each_epoch_begins_at_one() -> None:
    state = fold(NEW, told(SMALL, [LOGS[7]]))
    assert state.value != 1.0
    following = FIRST.next(20_030 * DAY, "stack-1")
    assert state.renewed(following).value == state.rebased(following, ()).value == 1.0


def test_another_null_or_another_kind_of_evidence_is_refused() -> None:
    state = fold(NEW, told(SMALL, [LOGS[7]]))
    for other in (replace(SMALL, clip=1.0), replace(SMALL, horizon=9), replace(SMALL, allowed=("bf16", "m1"))):
        with pytest.raises(ValueError, match="other hypotheses need an epoch"):
            state.after(Evidence(KEY, 9.0, said(other, LOGS[0])))
    with pytest.raises(ValueError, match="LikelihoodStream was given Scores"):
        state.after(Evidence(KEY, 9.0, Scores((0.5,))))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ((), "no token has any"),
        (((-1.0, -1.0, -1.0),), "one has 3"),
        (((-1.0, -1.0, -1.0, float("nan")),), "allowed"),
        (((-1.0, 0.5, -1.0, -1.0),), "at most 0"),
    ],
)
def test_rows_that_cannot_be_likelihoods_are_refused(rows: tuple[tuple[float, ...], ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        LogLikelihoods(SMALL, rows)
