"""Many streams at once: the values that the processes of `sequential` and `score_stream` take, to the last bit."""

from __future__ import annotations

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.sequential import BETS, MOST_WEALTH


class _Wealths:
    """`EProcess` of many streams: wealth of each bet, shape [bets, streams]."""

    def __init__(self, lawful: FloatArray, horizon: int) -> None:
        self.lawful, self.horizon, self.staked = lawful, horizon, 0
        self.bets = np.zeros((len(BETS), lawful.size))

    def after(self, scores: FloatArray) -> tuple[FloatArray, int]:
        stake = 1.0 / self.horizon if self.staked < self.horizon else 0.0
        excess = scores / self.lawful - 1.0
        factors = np.stack([1.0 + bet * excess for bet in BETS])
        return np.minimum(MOST_WEALTH, factors * (self.bets + stake)), min(self.staked + 1, self.horizon)

    def value(self, bets: FloatArray, staked: int) -> FloatArray:
        # Added up one by one, as the scalar form does.
        total = sum(bets, start=np.zeros(self.lawful.size))
        return np.asarray(1.0 - staked / self.horizon + total / len(BETS))

    def step(self, scores: FloatArray) -> FloatArray:
        self.bets, self.staked = self.after(scores)
        return self.value(self.bets, self.staked)

    def would_be(self, scores: FloatArray) -> FloatArray:
        return self.value(*self.after(scores))


def mean_paths(scores: FloatArray, lawful: FloatArray, horizon: int) -> FloatArray:
    """`EProcess.value` after every round; scores [streams, rounds], lawful [streams]."""
    wealths = _Wealths(lawful, horizon)
    return np.stack([wealths.step(column) for column in scores.T], axis=1)


def bets_paths(
    scores: FloatArray, hourly: FloatArray, daily: FloatArray, *, rounds_a_day: int, epoch_days: int
) -> FloatArray:
    """`Bets.value` after every round of days that are all asked whole from their first round on; scores [streams,
    rounds], levels [streams]."""
    by_hour = _Wealths(hourly, rounds_a_day * epoch_days)
    by_day = _Wealths(daily, epoch_days)
    values = np.empty_like(scores)
    today = np.zeros(len(scores))
    for r, column in enumerate(scores.T):
        if r and r % rounds_a_day == 0:
            by_day.step(today / rounds_a_day)
            today = np.zeros(len(scores))
        today = today + column
        values[:, r] = (by_hour.step(column) + by_day.would_be(today / rounds_a_day)) / 2.0
    return values


def wealth_paths(factors: FloatArray, horizon: int) -> FloatArray:
    """The value after every round of a stream whose evidence is one factor an alternative (`Combining.EACH`): that of
    `Wealth`; factors [streams, rounds, alternatives]."""
    streams, rounds, alternatives = factors.shape
    bets, staked, values = np.zeros((streams, alternatives)), 0, np.empty((streams, rounds))
    for r in range(rounds):
        stake = 1.0 / horizon if staked < horizon else 0.0
        bets, staked = np.minimum(MOST_WEALTH, factors[:, r] * (bets + stake)), min(staked + 1, horizon)
        total = sum(bets.T, start=np.zeros(streams))
        values[:, r] = 1.0 - staked / horizon + total / alternatives
    return values
