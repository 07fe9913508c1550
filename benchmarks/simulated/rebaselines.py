"""Re-baselining: regimes that settle, and how soon a ramp of accepted changes shows against the first baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated.figure import Figure, share
from benchmarks.simulated.rounds import (
    CALIBRATION_DAYS,
    EPOCH_DAYS,
    HOURS,
    PROMPTS,
    TOKENS,
    Calibrated,
    Scores,
    border_rounds,
    day_rates,
    mixed,
)
from monitor.drift.calibration import calibrate
from monitor.drift.fingerprint import EnrolledPrompt, Enrolment
from monitor.drift.first_baseline import ALPHA, MeansMove, level_move, means_move, share_of_error
from monitor.drift.levels import DAY
from monitor.drift.paths import bets_paths
from monitor.drift.score_stream import Round
from monitor.drift.settling import moved_p

UNCHANGED, RAMP = 24, 12
SETTLED_DAYS = 3
# Steps that a stream does not see: a share of the queries, and nats of log-probabilities (a fifth of what int8 makes).
STEP, NATS = 0.02, 0.014
_MARGIN = 0.02
# Nats of an answer, and of what a day's answers share.
_NOISE, _DAY_NOISE = 0.03, 0.01
_UNSTEADY = 0.005


@dataclass(frozen=True)
class Endpoint:
    """T2 rounds of an endpoint that is re-based again and again, `step` more of its queries going elsewhere each time;
    and its enrolled log-probabilities, `nats` further off."""

    rng: np.random.Generator
    step: float = 0.0
    nats: float = 0.0
    days: int = CALIBRATION_DAYS  # of each later baseline

    def rounds(self, times: int) -> list[Round]:
        days = self.days if times else CALIBRATION_DAYS
        rates = mixed(day_rates(self.rng, 1, days), min(1.0, self.step * times))
        scores = border_rounds(self.rng, rates)[0].tolist()
        return [Round(hour * DAY / HOURS, score) for hour, score in enumerate(scores)]

    def levels(self, most: int) -> int | None:
        """The comparison that first tells of a move."""
        first = self.rounds(0)
        for times in range(1, most + 1):
            found = level_move(first, self.rounds(times), days=CALIBRATION_DAYS, margin=_MARGIN)
            if found is not None and found.p <= share_of_error(times):
                return times
        return None

    def means(self, most: int) -> int | None:
        towards = self.rng.standard_normal((PROMPTS, TOKENS))
        towards *= self.nats / np.abs(towards).mean()
        first = self._enrolled(0.0 * towards, 0)
        for times in range(1, most + 1):
            found: MeansMove | None = means_move(first, self._enrolled(times * towards, times))
            if found is not None and found.p <= share_of_error(times):
                return times
        return None

    def _enrolled(self, moved: Scores, times: int) -> Enrolment:
        """From an answer an hour to each prompt, for fourteen days."""
        answers = CALIBRATION_DAYS * HOURS
        error = np.hypot(_NOISE / np.sqrt(answers), _DAY_NOISE / np.sqrt(CALIBRATION_DAYS))
        means = -3.0 + moved + error * self.rng.standard_normal(moved.shape)
        noise = float(np.hypot(_NOISE, _DAY_NOISE) * np.sqrt(2.0 / np.pi))
        tokens = tuple(bytes([one]) for one in range(TOKENS))
        prompts = tuple(
            EnrolledPrompt(f"p{at}", tokens, tuple(row), TOKENS, answers, 0.2, noise, None, None)
            for at, row in enumerate(means.tolist())
        )
        began = times * EPOCH_DAYS * DAY
        return Enrolment(prompts, began, began + CALIBRATION_DAYS * DAY - 1.0)


def figures(endpoints: int, *, seed: int = 0) -> Iterator[Figure]:
    rng = np.random.default_rng(seed)
    few = max(20, endpoints // 20)
    of_levels = [Endpoint(rng).levels(UNCHANGED) for _ in range(endpoints)]
    told = f"{UNCHANGED} re-baselines of an unchanged endpoint, ever told to have moved since the first"
    yield share(f"levels, days that differ: {told}", _ever(of_levels), ALPHA, "1 %")
    of_few_days = [Endpoint(rng, days=SETTLED_DAYS).levels(UNCHANGED) for _ in range(endpoints)]
    yield share(f"the same, of {SETTLED_DAYS} days each: {told}", _ever(of_few_days), ALPHA, "1 %")
    of_means = [Endpoint(rng).means(UNCHANGED) for _ in range(endpoints)]
    yield share(f"log-probabilities, days that share noise: {told}", _ever(of_means), ALPHA, "1 %")
    ramp = f"re-baselines until a ramp is told, median ({few})"
    of_levels = [Endpoint(rng, step=STEP).levels(RAMP) for _ in range(few)]
    yield Figure(f"levels, {STEP:.0%} more queries go elsewhere each time: {ramp}", _median(of_levels), "", RAMP)
    of_means = [Endpoint(rng, nats=NATS).means(RAMP) for _ in range(few)]
    yield Figure(f"log-probabilities, {NATS} nat further each time: {ramp}", _median(of_means), "", RAMP)
    yield Figure(f"the stream itself reaches 1,000 within the epoch of one such step ({few})", _seen(rng, few), "")
    yield from settling_figures(few, seed=seed)


def settling_figures(regimes: int, *, seed: int = 0) -> Iterator[Figure]:
    """Half of the queries go elsewhere, for 72 hours; and a fifth more in the middle of them."""
    rng = np.random.default_rng(seed)
    refused = [_moved(rng, 0.0) <= _UNSTEADY for _ in range(regimes)]
    yield share("72 hours of a steady regime, days that differ, taken for a move", refused, _UNSTEADY, "0.5 %")
    found = np.mean([_moved(rng, 0.2) <= _UNSTEADY for _ in range(regimes)])
    yield Figure(f"72 hours with a move of 0.2 in their middle, taken for one ({regimes})", float(found), "")


def _moved(rng: np.random.Generator, step: float) -> float:
    lawful = border_rounds(rng, day_rates(rng, 1, CALIBRATION_DAYS))[0]
    noise = calibrate(np.arange(lawful.size) * DAY / HOURS, lawful).noise
    shares = np.repeat(mixed(day_rates(rng, 1, 3), 0.5), HOURS, axis=1)
    shares[:, shares.shape[1] // 2 :] += step
    blocks = (rng.binomial(10, np.minimum(1.0, shares)) / 10).reshape(-1, 6).mean(axis=1)
    return 1.0 if noise is None else moved_p(blocks, noise, 3.0 * DAY, 0.25 * _MARGIN)


def _seen(rng: np.random.Generator, endpoints: int) -> float:
    days = day_rates(rng, endpoints, CALIBRATION_DAYS + EPOCH_DAYS)
    rates = np.hstack([days[:, :CALIBRATION_DAYS], mixed(days[:, CALIBRATION_DAYS:], STEP)])
    scores = border_rounds(rng, rates)
    baseline = CALIBRATION_DAYS * HOURS
    found = Calibrated.of(scores[:, :baseline])
    later = scores[found.ready, baseline:]
    paths = bets_paths(later, found.hourly, found.daily, rounds_a_day=HOURS, epoch_days=EPOCH_DAYS)
    return float(np.mean(paths.max(axis=1) >= 1_000.0))


def _ever(told: Sequence[int | None]) -> list[bool]:
    return [one is not None for one in told]


def _median(told: Sequence[int | None]) -> float:
    return float(np.median([np.inf if one is None else one for one in told]))
