"""A stream of scores as a value: ranked until enough days say what is lawful, then bet on by the hour and by the day.

Every state is the fold of `after` over the rounds in the order they were added, so it can be computed anew from stored
observations, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from monitor.drift.levels import DAY, DAYS, Calibration, Levels
from monitor.drift.ranks import rank_p, tie_breaker
from monitor.drift.sequential import EProcess, PValueProcess


class Round(NamedTuple):
    """When, in seconds since 1970, and the mean of its scores."""

    at: float
    score: float


@dataclass(frozen=True, slots=True)
class StreamRule:
    """rounds_a_day: as planned; epoch_days: α is promised for so many; days, delta, target: as in `calibrate`; proves:
    whether it may alarm, and is not shown only."""

    rounds_a_day: int = 24
    epoch_days: int = 30
    days: int = DAYS
    delta: float = 0.02
    target: float = 1.0
    seed: int = 0
    proves: bool = True

    @property
    def horizon(self) -> int:
        return self.rounds_a_day * self.epoch_days


@dataclass(frozen=True, slots=True)
class Today:
    """The rounds of a day so far; `day` counts from 1970. Those beyond the planned number are left out."""

    day: int
    total: float = 0.0
    rounds: int = 0

    def with_score(self, score: float, planned: int) -> Self:
        if self.rounds >= planned:
            return self
        return replace(self, total=self.total + score, rounds=self.rounds + 1)


@dataclass(frozen=True, slots=True)
class Bets:
    """Two processes on the same rounds, averaged: one bets on every round that the mean is above the hourly level, the
    other on every day that it is above the daily one, which rounds of a bad day cannot break.

    The value may be looked at after any round. A day's bet is settled when the day is over; from its first round on it
    is taken as if all rounds to come scored 0. That bounds it from below, so the value at any time of stopping has mean
    at most 1: the end of the day in which one stops is a stopping time of days. (Yesterday's value would not do: who
    stops in a good day keeps what the day is about to lose; Choe & Ramdas 2024, arXiv:2402.09698.)
    """

    hourly: EProcess
    daily: EProcess
    today: Today
    planned: int

    @classmethod
    def start(cls, levels: Levels, rule: StreamRule, at: float) -> Self:
        return cls(
            EProcess.start(levels.hourly, rule.horizon),
            EProcess.start(levels.daily, rule.epoch_days),
            Today(day_of(at)),
            rule.rounds_a_day,
        )

    @property
    def value(self) -> float:
        begun = self.today.rounds > 0
        daily = self.daily.after(self.today.total / self.planned) if begun else self.daily
        return (self.hourly.value + daily.value) / 2.0

    def after(self, now: Round) -> Self:
        daily, today = self.daily, self.today
        if day_of(now.at) > today.day:
            daily = daily.after(today.total / today.rounds) if today.rounds else daily
            today = Today(day_of(now.at))
        return replace(
            self,
            hourly=self.hourly.after(now.score),
            daily=daily,
            today=today.with_score(now.score, self.planned),
        )


@dataclass(frozen=True, slots=True)
class ScoreStream:
    """`past` holds the rounds until there are levels; `ranks` bets on their ranks. `baseline` is when the first and the
    last round were that the levels come from."""

    rule: StreamRule
    ranks: PValueProcess
    past: tuple[Round, ...] = ()
    calibration: Calibration | None = None
    baseline: tuple[float, float] | None = None
    bets: Bets | None = None
    rounds: int = 0
    last_at: float | None = None

    @classmethod
    def start(cls, rule: StreamRule) -> Self:
        return cls(rule, PValueProcess.start(rule.rounds_a_day * rule.days))

    @classmethod
    def with_baseline(cls, rule: StreamRule, baseline: Iterable[Round], at: float) -> Self:
        """Begins at `at` with the levels of a baseline whose rounds were scored anew, as after a change of our own
        engine or detector. All evidence starts at 1; a baseline that gives no levels is gone on with."""
        state = cls.start(rule)
        return replace(state, past=tuple(baseline))._calibrated(at)

    def renewed(self, at: float) -> Self:
        """The next epoch with the same levels."""
        levels = self.calibration.levels if self.calibration else None
        bets = None if levels is None else Bets.start(levels, self.rule, at)
        return replace(self, bets=bets, ranks=type(self).start(self.rule).ranks)

    @property
    def value(self) -> float:
        return self.ranks.value if self.bets is None else self.bets.value

    def after(self, now: Round) -> Self:
        """A round that is older than the last one, or has its time, counts nothing."""
        if self.last_at is not None and now.at <= self.last_at:
            return self
        state = self
        if self.bets is None and self.past and day_of(now.at) > day_of(self.past[-1].at):
            state = self._calibrated(now.at)
        state = state._ranked(now) if state.bets is None else replace(state, bets=state.bets.after(now))
        return replace(state, rounds=self.rounds + 1, last_at=now.at)

    def _ranked(self, now: Round) -> Self:
        p = rank_p([one.score for one in self.past], now.score, tie_breaker(self.rule.seed, self.rounds))
        oldest = now.at - 2 * self.rule.days * DAY
        return replace(self, ranks=self.ranks.after(p), past=(*(one for one in self.past if one.at >= oldest), now))

    def _calibrated(self, at: float) -> Self:
        """Levels from the days before the one of `at`, where they give any."""
        # Here: who only reads what streams came to needs none of it.
        import numpy as np

        from monitor.drift.calibration import calibrate

        rule = self.rule
        times, scores = np.array(self.past, dtype=np.float64).reshape(-1, 2).T
        found = calibrate(times, scores, days=rule.days, delta=rule.delta, target=rule.target)
        if found.levels is None:
            return replace(self, calibration=found)
        bets = Bets.start(found.levels, rule, at)
        return replace(self, calibration=found, baseline=(self.past[0].at, self.past[-1].at), past=(), bets=bets)


def day_of(at: float) -> int:
    return int(at // DAY)
