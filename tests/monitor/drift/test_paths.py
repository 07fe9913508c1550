from __future__ import annotations

import numpy as np

from monitor.drift.levels import DAY, Levels
from monitor.drift.paths import bets_paths, mean_paths, wealth_paths
from monitor.drift.score_stream import Bets, Round, StreamRule
from monitor.drift.sequential import EProcess, Wealth


def test_many_streams_at_once_are_the_same_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((6, 40)) * rng.random((6, 1))
    lawful = rng.uniform(0.1, 0.6, 6)
    for level, row, path in zip(lawful, scores, mean_paths(scores, lawful, 30), strict=True):
        state = EProcess.start(level, 30)
        for score, value in zip(row, path, strict=True):
            state = state.after(score)
            assert state.value == value


def test_so_are_their_bets_by_hour_and_by_day() -> None:
    rng = np.random.default_rng(1)
    rule = StreamRule(rounds_a_day=6, epoch_days=4)
    scores = rng.random((5, 30)) * rng.random((5, 1))
    hourly, daily = rng.uniform(0.3, 0.6, 5), rng.uniform(0.1, 0.3, 5)
    paths = bets_paths(scores, hourly, daily, rounds_a_day=6, epoch_days=4)
    for by_hour, by_day, row, path in zip(hourly, daily, scores, paths, strict=True):
        bets = Bets.start(Levels(by_hour, by_day, 0.02, 14), rule, 0.0)
        for place, (score, value) in enumerate(zip(row.tolist(), path.tolist(), strict=True)):
            bets = bets.after(Round(place // 6 * DAY + place % 6 * 3_600.0, score))
            assert bets.value == value


def test_so_are_alternatives() -> None:
    factors = np.exp(np.random.default_rng(2).normal(0.0, 2.0, (4, 40, 3)))
    for of_stream, path in zip(factors.tolist(), wealth_paths(factors, 30), strict=True):
        wealth = Wealth(30, (0.0,) * 3)
        for of_round, value in zip(of_stream, path, strict=True):
            wealth = wealth.times(of_round)
            assert wealth.value == value
