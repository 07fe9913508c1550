"""False alarms: epochs of 30 days in which nothing changed but what may."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.simulated.figure import Figure, share
from benchmarks.simulated.rounds import (
    CALIBRATION_DAYS,
    EPOCH_DAYS,
    HOURS,
    Calibrated,
    Fingerprint,
    Scores,
    border_rounds,
    day_rates,
    mixed,
)
from monitor.drift.multiplicity import e_bh
from monitor.drift.paths import bets_paths, mean_paths
from monitor.drift.score_stream import Round, ScoreStream, StreamRule

ALPHAS = (0.05, 0.01, 0.001)
FDR = 0.05
_AT_ONCE = 1_000

# How many streams and days → hourly scores.
Lawful = Callable[[np.random.Generator, int, int], Scores]


def border(rng: np.random.Generator, streams: int, days: int) -> Scores:
    return border_rounds(rng, day_rates(rng, streams, days))


def border_of_like_days(rng: np.random.Generator, streams: int, days: int) -> Scores:
    return border_rounds(rng, np.full((streams, days), 0.1))


def fingerprint(rng: np.random.Generator, streams: int, days: int) -> Scores:
    """Noise of 0.03 nat that is a sixth larger or smaller from day to day."""
    return Fingerprint.of(rng, streams, 0.03, daily=0.15).rounds(rng, days)


def largest_values(lawful: Lawful, epochs: int, *, calibration_days: int = CALIBRATION_DAYS, seed: int = 0) -> Scores:
    """The largest value within each epoch, looked at every hour. Streams whose baseline was not accepted are made up
    again: they would wait."""
    rng = np.random.default_rng(seed)
    found: list[Scores] = []
    while sum(map(len, found)) < epochs:
        scores = lawful(rng, min(_AT_ONCE, epochs), calibration_days + EPOCH_DAYS)
        known = calibration_days * HOURS
        levels = Calibrated.of(scores[:, :known], calibration_days)
        path = bets_paths(
            scores[levels.ready, known:], levels.hourly, levels.daily, rounds_a_day=HOURS, epoch_days=EPOCH_DAYS
        )
        found.append(path.max(axis=1))
    return np.concatenate(found)[:epochs]


def false_alarms(
    lawful: Lawful, epochs: int, *, calibration_days: int = CALIBRATION_DAYS, seed: int = 0
) -> list[Figure]:
    largest = largest_values(lawful, epochs, calibration_days=calibration_days, seed=seed)
    name = f"{lawful.__name__}, {calibration_days} days of baseline: epochs with any alarm at α ="
    return [share(f"{name} {alpha:g}", largest >= 1.0 / alpha, alpha, "G9") for alpha in ALPHAS]


def without_days(epochs: int, *, seed: int = 0) -> Figure:
    """What comes of taking rounds for independent: bets against the long-run mean, on days that differ."""
    scores = border(np.random.default_rng(seed), epochs, EPOCH_DAYS)
    largest = mean_paths(scores, np.full(epochs, 0.1), EPOCH_DAYS * HOURS).max(axis=1)
    return Figure("bets against the long-run mean by the hour alone, α = 0.01", float(np.mean(largest >= 100.0)), "")


def by_rank(lawful: Lawful, epochs: int, *, seed: int = 0) -> float:
    """Of streams within their days of baseline, the share whose ranks reach 100."""
    rng = np.random.default_rng(seed)
    reached = 0
    for row in lawful(rng, epochs, CALIBRATION_DAYS):
        state = ScoreStream.start(StreamRule(seed=int(rng.integers(2**31))))
        values = []
        for place, score in enumerate(row.tolist()):
            state = state.after(Round(place * 3_600.0, score))
            values.append(state.value)
        reached += max(values) >= 100.0
    return reached / epochs


def false_discoveries(repeats: int, *, endpoints: int = 200, changed: int = 10, seed: int = 0) -> list[Figure]:
    """e-BH over endpoints of whose day noise half is shared, some of which change on the tenth day by half: the mean
    share of false listings on the worst day, and on the first day on which any is listed."""
    rng = np.random.default_rng(seed)
    by_day = np.zeros((repeats, EPOCH_DAYS))
    first = np.zeros(repeats)
    for repeat in range(repeats):
        rates = day_rates(rng, endpoints, CALIBRATION_DAYS + EPOCH_DAYS, in_common=0.5)
        rates[:changed, CALIBRATION_DAYS + 10 :] = mixed(rates[:changed, CALIBRATION_DAYS + 10 :], 0.5)
        scores = border_rounds(rng, rates)
        known = CALIBRATION_DAYS * HOURS
        levels = Calibrated.of(scores[:, :known])
        path = bets_paths(
            scores[levels.ready, known:], levels.hourly, levels.daily, rounds_a_day=HOURS, epoch_days=EPOCH_DAYS
        )
        by_day[repeat], first[repeat] = _false_shares(
            path[:, HOURS - 1 :: HOURS], np.flatnonzero(levels.ready) < changed
        )
    # Of a mean of shares no larger than 1, with the variance of a chance of 5 %.
    most = FDR + 2.0 * np.sqrt(FDR * (1.0 - FDR) / repeats)
    what = f"e-BH at 5 % over {endpoints} endpoints with shared shocks"
    return [
        Figure(f"{what}: false share on the worst day ({repeats})", float(by_day.mean(axis=0).max()), "", most, "G9"),
        Figure(f"{what}: on the first day of a listing ({repeats})", float(first.mean()), "", most, "G9"),
    ]


def _false_shares(by_day: Scores, changed: np.ndarray) -> tuple[list[float], float]:
    shares, first = [], None
    for values in by_day.T:
        listed = [int(name) for name in e_bh({str(place): float(one) for place, one in enumerate(values)}, FDR)]
        false = float(np.mean(~changed[listed])) if listed else 0.0
        shares.append(false)
        first = false if first is None and listed else first
    return shares, first or 0.0
