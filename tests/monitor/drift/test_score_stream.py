from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.levels import DAY, Levels, Standing
from monitor.drift.score_stream import Bets, Round, ScoreStream, StreamRule
from tests.monitor.drift.rounds import days_of

RULE = StreamRule()
LEVELS = Levels(0.3, 0.15, 0.02, 14)


def folded(state: ScoreStream, rounds: list[Round]) -> ScoreStream:
    for one in rounds:
        state = state.after(one)
    return state


def test_a_change_is_drift_within_a_day_of_hours_and_silence_is_none() -> None:
    rng = np.random.default_rng(0)
    before = folded(ScoreStream.start(RULE), days_of(rng, 15))
    assert before.bets is not None
    assert before.value < 20
    assert before.past == ()
    assert before.baseline == (20_000 * DAY, 20_014 * DAY - 3_600.0)
    after = folded(before, days_of(rng, 1, first=20_015, moved=1.0))
    assert after.value >= 1_000
    assert folded(before, days_of(rng, 1, first=20_015)).value < 20


def test_before_there_are_levels_a_gross_change_shows_by_rank() -> None:
    rng = np.random.default_rng(1)
    before = folded(ScoreStream.start(RULE), days_of(rng, 5))
    after = folded(before, days_of(rng, 1, first=20_005, moved=0.9))
    assert before.bets is after.bets is None
    assert before.value < 20
    assert after.value >= 100


def test_a_round_out_of_order_counts_nothing() -> None:
    state = folded(ScoreStream.start(RULE), days_of(np.random.default_rng(2), 2))
    assert state.after(Round(20_000 * DAY, 1.0)) is state
    assert state.after(Round(20_001 * DAY + 23 * 3_600.0, 1.0)) is state


def test_a_baseline_that_moved_is_waited_out() -> None:
    rng = np.random.default_rng(3)
    moved = folded(ScoreStream.start(RULE), days_of(rng, 9) + days_of(rng, 7, first=20_009, moved=0.4))
    assert moved.calibration is not None
    assert moved.calibration.standing is Standing.UNSTEADY
    assert moved.bets is None
    settled = folded(moved, days_of(rng, 10, first=20_016, moved=0.4))
    assert settled.bets is not None


def test_what_our_own_stack_sees_otherwise_is_no_drift() -> None:
    rng = np.random.default_rng(4)
    baseline = days_of(rng, 14)
    old = folded(ScoreStream.start(RULE), baseline + days_of(rng, 6, first=20_014))
    rescored = [Round(one.at, 0.4 + one.score / 2) for one in baseline]
    new = ScoreStream.with_baseline(RULE, rescored, 20_020 * DAY)
    assert new.value == 1.0
    assert new.calibration is not None
    assert new.calibration.levels is not None
    assert new.calibration.levels.hourly > 0.45
    later = days_of(rng, 5, first=20_020)
    assert folded(new, [Round(one.at, 0.4 + one.score / 2) for one in later]).value < 20
    # By the old levels the same rounds would have been one.
    assert folded(old, [Round(one.at, 0.4 + one.score / 2) for one in later]).value >= 100


def test_an_epoch_begins_anew_with_the_same_levels() -> None:
    rng = np.random.default_rng(5)
    state = folded(ScoreStream.start(RULE), days_of(rng, 14) + days_of(rng, 2, first=20_014, moved=1.0))
    again = state.renewed(20_016 * DAY)
    assert state.value >= 1_000
    assert again.value == 1.0
    assert again.calibration is state.calibration
    assert ScoreStream.with_baseline(RULE, (), 20_016 * DAY).bets is None
    early = folded(ScoreStream.start(RULE), days_of(rng, 3))
    assert early.renewed(20_003 * DAY).ranks.value == 1.0


@settings(max_examples=50)
@given(st.lists(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6), min_size=1, max_size=5))
def test_a_day_that_is_not_over_is_never_worth_more_than_when_it_is(days: list[list[float]]) -> None:
    rule = StreamRule(rounds_a_day=4, epoch_days=5)
    bets = Bets.start(LEVELS, rule, 0.0)
    for day, scores in enumerate(days):
        unsettled = []
        for place, score in enumerate(scores):
            bets = bets.after(Round(day * DAY + place * 3_600.0, score))
            unsettled.append(2.0 * bets.value - bets.hourly.value)
        settled = bets.after(Round((day + 1) * DAY, 0.0)).daily.value
        assert max(unsettled) <= settled * (1 + 1e-12)
        # The day may go on; what comes counts for the next one here.
    assert bets.value >= 0.0
