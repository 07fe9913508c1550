"""What a drift settles to: 72 hours without a move, at all hours, of every stream of scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.decision import Event
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import Combining, Evidence, ExactP, Inapplicable, Null, Scores, StreamKey, Tier
from monitor.drift.levels import BLOCKS, DAY, Noise
from monitor.drift.score_stream import Round, ScoreStream, StreamRule
from monitor.drift.settling import SETTLED, moved_p, settled, unsettled
from monitor.drift.streams import Epoch, StreamState
from tests.monitor.drift.rounds import days_of

KEY = StreamKey("e1", Tier.LOGPROBS, "anchors-1")
OTHER = KEY._replace(probe_set="anchors-2")
DRAWN = StreamKey("e1", Tier.SAMPLING, "draws-1")
START = 20_014
BEGAN = START * DAY
HOUR = 3_600.0
RULE = StreamRule(seed=7)
NOISE = Noise(mean=0.1, rounds=0.1, blocks=0.04, days=0.05)


def opened(*others: StreamState) -> EndpointStreams:
    epoch = Epoch(0, BEGAN, "stack-1")
    baseline = days_of(np.random.default_rng(0), 14)
    scored = [
        StreamState(key, RULE, epoch, ScoreStream.with_baseline(RULE, baseline, BEGAN))
        for key in (KEY, OTHER)
        if key not in {one.key for one in others}
    ]
    return EndpointStreams.opened(epoch, [*scored, *(replace(one, epoch=epoch) for one in others)], {})


def drifted(rounds: dict[StreamKey, list[Round]], now: EndpointStreams | None = None) -> tuple[EndpointStreams, float]:
    """The endpoint after these rounds, and when drift was said."""
    now, said = opened() if now is None else now, float("inf")
    for at, key, score in sorted((one.at, key, one.score) for key, several in rounds.items() for one in several):
        now = now.after(Evidence(key, at, Scores((score,))))
        now, look = now.looked(at)
        if Event.DRIFTED in look.events:
            said = at
    return now, said


def hourly(scores: list[float] | np.ndarray, first: float = BEGAN) -> list[Round]:
    return [Round(first + HOUR * place, float(score)) for place, score in enumerate(scores)]


def changed(hours: int, *, lawful: int = 24, score: float = 0.8) -> list[Round]:
    """A day as before, and then what a change makes, with a little noise."""
    rng = np.random.default_rng(3)
    return hourly([*(0.1 + 0.02 * rng.random(lawful)), *(score + 0.02 * rng.random(hours))])


def test_rounds_since_the_onset_are_the_baseline_once_they_last_72_hours() -> None:
    rounds = {KEY: changed(90), OTHER: changed(90, score=0.1)}
    now, said = drifted(rounds)
    onset = BEGAN + 24 * HOUR
    assert said > onset
    assert settled(now, rounds, said, onset + SETTLED - 1.0) is None

    found = settled(now, rounds, said, onset + SETTLED + 3 * HOUR)

    assert found is not None
    # The latest start that explains what was seen as well.
    late = round((found.since - onset) / HOUR)
    assert 0 <= late <= 3
    assert found.until == onset + SETTLED + 3 * HOUR
    assert settled(now, rounds, said, found.since + SETTLED - 1.0) is None
    assert {key: [one.at for one in given] for key, given in found.baselines.items()} == {
        key: [onset + HOUR * place for place in range(late, 76)] for key in (KEY, OTHER)
    }


def test_an_endpoint_that_did_not_drift_settles_to_nothing() -> None:
    rounds = {KEY: changed(90, score=0.1), OTHER: changed(90, score=0.1)}
    now, said = drifted(rounds)
    assert said == float("inf")
    assert settled(now, rounds, BEGAN, BEGAN + 90 * HOUR) is None


@pytest.mark.parametrize("which", [KEY, OTHER])
def test_a_regime_that_moved_again_is_waited_for(which: StreamKey) -> None:
    rounds = {KEY: changed(140, score=0.5), OTHER: changed(140, score=0.1)}
    again = BEGAN + 48 * HOUR
    rounds[which] = [Round(one.at, one.score + 0.35) if one.at >= again else one for one in rounds[which]]
    now, said = drifted(rounds)
    assert settled(now, rounds, said, BEGAN + (24 + 72) * HOUR + 1.0) is None
    assert settled(now, rounds, said, again + 60 * HOUR) is None

    found = settled(now, rounds, said, again + SETTLED + HOUR)

    assert found is not None
    assert found.since == pytest.approx(again + HOUR)
    assert min(one.at for one in found.baselines[which]) >= again


def test_every_six_hours_need_rounds() -> None:
    rounds = {KEY: changed(90), OTHER: changed(90, score=0.1)}
    now, said = drifted(rounds)
    at = BEGAN + (24 + 76) * HOUR
    assert settled(now, rounds, said, at) is not None
    night = (at - 29 * HOUR, at - 23 * HOUR)
    silent = {**rounds, OTHER: [one for one in rounds[OTHER] if not night[0] <= one.at < night[1]]}
    assert settled(now, silent, said, at) is None
    # Nor is an endpoint settled that has not been asked lately.
    assert settled(now, rounds, said, BEGAN + 128 * HOUR) is None


def test_a_stream_that_says_nothing_any_more_holds_nothing_up() -> None:
    rounds = {KEY: changed(90), OTHER: changed(10, score=0.1)}
    now, said = drifted(rounds)
    at = BEGAN + 100 * HOUR
    assert settled(now, rounds, said, at) is None
    found = settled(now.after(Evidence(OTHER, at, Inapplicable("no log-probabilities"))), rounds, said, at)
    assert found is not None
    assert set(found.baselines) == {KEY}


def test_streams_that_are_asked_rarely_go_along() -> None:
    rare = StreamState(OTHER, StreamRule(rounds_a_day=1), Epoch(0, BEGAN, "stack-1"), ScoreStream.start(RULE))
    rounds = {KEY: changed(90), OTHER: [Round(BEGAN + DAY * place + 60.0, 0.1 * place) for place in range(5)]}
    now, said = drifted(rounds, opened(rare))
    found = settled(now, rounds, said, BEGAN + 100 * HOUR)
    assert found is not None
    assert [one.score for one in found.baselines[OTHER]] == pytest.approx([0.2, 0.3, 0.4])


@pytest.mark.parametrize(("p", "settles"), [(0.5, True), (1e-5, False)])
def test_a_stream_with_a_null_of_its_own_cannot_be_rebased_away(p: float, settles: bool) -> None:
    rounds = {KEY: changed(90), OTHER: changed(90, score=0.1)}
    now, said = drifted(rounds, opened(StreamState(DRAWN, RULE, Epoch(0, BEGAN, "stack-1"))))
    for place in range(8):
        now = now.after(Evidence(DRAWN, BEGAN + place, ExactP(p, Null.STATED, Combining.MULTIPLY)))
    assert (settled(now, rounds, said, BEGAN + 100 * HOUR) is not None) is settles


def regimes(seed: int, days: int, *, step: float = 0.0) -> list[list[Round]]:
    """100 times so many days at another rate, which differ as days before did; `step` comes in the middle."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(100):
        rates = np.repeat(np.clip(rng.normal(0.5, 0.046, days), 0.0, 1.0), 24)
        rates[rates.size // 2 :] += step
        # Ten queries of which so many differ, an hour.
        found.append(hourly(rng.normal(rates, 0.095)))
    return found


def stream(noise: Noise | None = NOISE) -> StreamState:
    state = opened().streams[KEY]
    assert isinstance(state.process, ScoreStream)
    assert state.process.calibration is not None
    return replace(state, process=replace(state.process, calibration=replace(state.process.calibration, noise=noise)))


@pytest.mark.parametrize("days", [3, 8, 14])
def test_steady_regimes_are_told_from_moves(days: int) -> None:
    until = BEGAN + days * DAY
    refused, moved = (
        np.mean([unsettled(one, stream(), BEGAN, until) is not None for one in regimes(1, days, step=step)])
        for step in (0.0, 0.3)
    )
    # 0.5 % is what is allowed.
    assert refused <= 0.005 + 2.0 * np.sqrt(0.005 * 0.995 / 100)
    assert moved >= 0.9


def test_without_the_noise_of_days_steady_regimes_would_be_refused() -> None:
    still = replace(NOISE, days=NOISE.blocks / 2.0)
    refused = [unsettled(one, stream(still), BEGAN, BEGAN + 3 * DAY) is not None for one in regimes(1, 3)]
    assert np.mean(refused) > 0.1


def test_without_known_noise_fourteen_days_are_needed() -> None:
    rounds = regimes(2, 14)[0]
    assert "14 days are needed" in str(unsettled(rounds, stream(None), BEGAN, BEGAN + 13 * DAY))
    assert unsettled(rounds, stream(None), BEGAN, BEGAN + 14 * DAY) is None


means = st.lists(st.floats(0.0, 1.0), min_size=12, max_size=27).map(np.array)


@settings(max_examples=40, deadline=None)
@given(means, st.floats(-0.5, 0.5))
def test_neither_the_level_nor_the_sign_matters(blocks: np.ndarray, level: float) -> None:
    until = BEGAN + 8 * DAY
    p = moved_p(blocks, NOISE, until, 0.005)
    assert moved_p(blocks + level, NOISE, until, 0.005) == pytest.approx(p, abs=2e-3)
    assert moved_p(1.0 - blocks, NOISE, until, 0.005) == pytest.approx(p, abs=2e-3)


@settings(max_examples=40, deadline=None)
@given(means, st.floats(1.0, 5.0))
def test_the_same_move_enlarged_is_no_likelier_to_be_noise(blocks: np.ndarray, times: float) -> None:
    until = BEGAN + 8 * DAY
    assert moved_p(times * blocks, NOISE, until, 0.005) <= moved_p(blocks, NOISE, until, 0.005) + 2e-3


def test_blocks_are_counted_from_the_end() -> None:
    assert BLOCKS * (SETTLED / DAY) == 12.0
    late = hourly([0.5] * 72, BEGAN + 1.0)
    assert unsettled(late, stream(), BEGAN, BEGAN + SETTLED) is None
    assert unsettled(late[:-4], stream(), BEGAN, BEGAN + SETTLED) is not None
