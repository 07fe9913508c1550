"""Where a stream stands, and when it can have levels at the earliest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.evidence import Combining, Evidence, ExactP, Inapplicable, Null, Scores, StreamKey, Tier
from monitor.drift.levels import DAY
from monitor.drift.score_stream import Round, ScoreStream, StreamRule
from monitor.drift.stream_standing import Phase, StreamStanding, earliest_levels, levels_of
from monitor.drift.streams import Epoch, StreamState
from tests.monitor.drift.rounds import days_of

KEY = StreamKey("ep_1", Tier.LOGPROBS, "anchors-1")
RULE = StreamRule(days=7)
NEW = StreamState(KEY, RULE, Epoch(0, 20_000 * DAY, "stack-1"))
# An hour's rounds and the next one's differ, days do not.
SCORES = (0.1, 0.2)


def test_a_stream_waits_until_something_is_said_of_it() -> None:
    assert StreamStanding.of(NEW) == StreamStanding(Phase.WAITING)
    assert levels_of(NEW) is None


def test_why_nothing_is_said_is_told() -> None:
    silent = NEW.after(Evidence(KEY, 20_000 * DAY, Inapplicable("no log-probabilities")))
    assert StreamStanding.of(silent) == StreamStanding(Phase.INAPPLICABLE, "no log-probabilities")


def test_a_null_that_needs_no_levels_is_bet_on_at_once() -> None:
    said = ExactP(0.5, Null.REFERENCE, Combining.MULTIPLY)
    betting = replace(NEW, key=KEY).after(Evidence(KEY, 20_000 * DAY, said))
    assert StreamStanding.of(betting) == StreamStanding(Phase.BETTING)
    assert levels_of(betting) is None


def test_ranks_calibrate_from_the_first_round_on() -> None:
    state = NEW
    for hour in range(3):
        state = state.after(Evidence(KEY, 20_000 * DAY + 3_600.0 * hour, Scores((0.1,))))
    found = StreamStanding.of(state)
    assert (found.phase, found.since, found.until) == (Phase.CALIBRATING, 20_000 * DAY, 20_007 * DAY)


def test_levels_end_it() -> None:
    rounds = days_of(np.random.default_rng(0), 14)
    state = replace(NEW, process=ScoreStream.with_baseline(StreamRule(), rounds, 20_014 * DAY))
    assert StreamStanding.of(state).phase is Phase.BETTING
    levels = levels_of(state)
    assert levels is not None
    assert levels.days == 14


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 23), st.sampled_from([1, 2, 3, 6]))
def test_levels_are_there_when_it_was_said_where_no_day_is_left_out(first_hour: int, every: int) -> None:
    """Of a first day of which too little was seen, nothing counts; what was said never came too late."""
    stream, said = ScoreStream.start(RULE), []
    for number in range(10 * 24 // every):
        at = 20_000 * DAY + 3_600.0 * (first_hour + every * number)
        stream = stream.after(Round(at, SCORES[number % 2]))
        if stream.bets is not None:
            break
        said.append(earliest_levels(stream))
    assert stream.bets is not None
    assert stream.last_at is not None
    known = [one for one in said if one is not None]
    assert known[-1] <= stream.last_at < known[-1] + 3_600.0 * every
    assert known == sorted(known)


def test_a_day_that_was_missed_is_one_day_more() -> None:
    def at_day(day: int) -> float | None:
        stream = ScoreStream.start(RULE)
        for number in [0, 1, day]:
            for hour in range(24):
                stream = stream.after(Round((20_000 + number) * DAY + 3_600.0 * hour, 0.1))
        return earliest_levels(stream)

    without, missed = at_day(2), at_day(3)
    assert without == 20_007 * DAY
    assert missed == 20_008 * DAY


def test_where_days_are_enough_nothing_is_foretold() -> None:
    """The baseline moved within itself: later days may give levels, and nobody knows which."""
    stream = ScoreStream.start(StreamRule())
    for day in range(15):
        for hour in range(24):
            stream = stream.after(Round((20_000 + day) * DAY + 3_600.0 * hour, 0.05 if day < 6 else 0.09))
    assert stream.bets is None
    assert earliest_levels(stream) is None
    state = replace(NEW, process=stream)
    assert "moved within the baseline" in StreamStanding.of(state).reason


@pytest.mark.parametrize("scores", [(), (0.1,)])
def test_a_stream_without_rounds_foretells_nothing(scores: tuple[float, ...]) -> None:
    stream = ScoreStream.start(RULE)
    for place, score in enumerate(scores):
        stream = stream.after(Round(20_000 * DAY + place, score))
    assert (earliest_levels(stream) is None) == (not scores)
