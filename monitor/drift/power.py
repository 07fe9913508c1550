"""How long a change takes to be proven: simulated with the processes that streams use, on rounds that are made up.

A delay counts from right after a round, in which the change just does not show. Everything is drawn from one seed: of
equal arguments the figures are equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from monitor.drift.calibration import calibrate
from monitor.drift.levels import DAY, DAYS, Standing
from monitor.drift.likelihood_ratios import Ratios
from monitor.drift.made_up import Cadence, Tier
from monitor.drift.observation import FloatArray
from monitor.drift.paths import bets_paths, wealth_paths

EPOCH_DAYS = 30
ENDPOINTS, BASELINES = 240, 60
# The change comes at noon of the second day of the epoch: what was staked before it is at work by then.
BEFORE_DAYS = 1.5


@dataclass(frozen=True)
class Delays:
    """`rounds` from the change to the proof of each simulated endpoint, infinite where none came while it was looked.
    `why_never`: why no number of rounds brings one; None where one may."""

    cadence: Cadence
    rounds: FloatArray
    why_never: str | None = None

    @classmethod
    def never(cls, cadence: Cadence, why: str) -> Self:
        return cls(cadence, np.full(ENDPOINTS, np.inf), why)

    def hours(self, share: float, *, late: float = 0.0) -> float:
        """Within so many hours this share of the endpoints is proven. late: the part of an interval by which the last
        round may come late."""
        rounds = float(np.quantile(self.rounds, share, method="inverted_cdf"))
        return (rounds + late) * self.cadence.interval_hours

    @property
    def share(self) -> float:
        """That is proven at all while it was looked."""
        return float(np.isfinite(self.rounds).mean())

    def power(self, hours: float, *, late: float = 0.0) -> float:
        """The share that is proven within so many hours."""
        return float(np.mean((self.rounds + late) * self.cadence.interval_hours <= hours + 1e-9))


def bet_delays(tier: Tier, cadence: Cadence, hours: float, needs: float, *, seed: int = 0) -> Delays:
    """Of a stream of scores whose levels come from 14 days, looked at for so many hours after the change.

    needs: the value at which it counts as proven. `Delays.why_never` where it has no levels, and where the change
    leaves the mean score at or below both: then no bet wins on average, at any rate (the null itself).
    """
    if cadence.rounds_a_day < 1 or cadence.requests < 1:
        raise ValueError(f"a cadence has a round a day and a request at least: {cadence}")
    if not hours > 0.0 or not needs > 1.0:
        raise ValueError(f"delays are over some hours, to a value above 1: {hours}, {needs}")
    rng = np.random.default_rng(seed)
    hourly, daily, why = _levels(tier.lawful(rng, BASELINES, DAYS, cadence), cadence)
    if why is not None:
        return Delays.never(cadence, why)
    moved = float(tier.changed(rng, BASELINES, 1, cadence).mean())
    lawful = float(min(hourly.mean(), daily.mean()))
    if moved <= lawful:
        return Delays.never(
            cadence, f"the change brings the mean score to {moved:.3f}, and up to {lawful:.3f} is lawful"
        )
    begins, looked = _rounds(cadence, BEFORE_DAYS), max(1, int(hours / cadence.interval_hours + 1e-9))
    before = tier.lawful(rng, ENDPOINTS, int(np.ceil(BEFORE_DAYS)), cadence)[:, :begins]
    after = tier.changed(rng, ENDPOINTS, -(-looked // cadence.rounds_a_day), cadence)
    which = np.arange(ENDPOINTS) % hourly.size
    path = bets_paths(
        np.concatenate([before, after[:, :looked]], axis=1),
        hourly[which],
        daily[which],
        rounds_a_day=cadence.rounds_a_day,
        epoch_days=EPOCH_DAYS,
    )
    return Delays(cadence, _first(path, begins, needs))


def sooner(streams: Iterable[Delays]) -> Delays:
    """Of streams on the same answers that which proves the change most often; no other is looked at once all endpoints
    are proven, and of those that prove none the first is told of that may."""
    best: Delays | None = None
    for found in streams:
        if best is None or _order(found) > _order(best):
            best = found
        if best.share == 1.0:
            break
    if best is None:
        raise ValueError("delays are of one stream at least")
    return best


def _order(delays: Delays) -> tuple[float, bool]:
    return delays.share, delays.why_never is None


def ratio_delays(ratios: Ratios, cadence: Cadence, hours: float, needs: float, *, seed: int = 0) -> Delays:
    """Of a stream of likelihood ratios, one bet for each alternative, multiplied over all that is asked in a round."""
    if ratios.nats <= 0.0:
        return Delays.never(cadence, "what the change makes is lawful")
    rng = np.random.default_rng(seed)
    begins, looked = max(1, _rounds(cadence, BEFORE_DAYS)), max(1, int(hours / cadence.interval_hours + 1e-9))
    before = ratios.factors(rng, ENDPOINTS, begins, cadence.requests, changed=False)
    after = ratios.factors(rng, ENDPOINTS, looked, cadence.requests, changed=True)
    path = wealth_paths(np.concatenate([before, after], axis=1), cadence.rounds_a_day * EPOCH_DAYS)
    return Delays(cadence, _first(path, begins, needs))


def _rounds(cadence: Cadence, days: float) -> int:
    return int(np.ceil(cadence.rounds_a_day * days))


def _levels(known: FloatArray, cadence: Cadence) -> tuple[FloatArray, FloatArray, str | None]:
    """Of the baselines that give any; why the first one does not, where none does."""
    at = np.arange(known.shape[1], dtype=np.float64) * (DAY / cadence.rounds_a_day)
    found = [calibrate(at, row) for row in known]
    levels = [one.levels for one in found if one.levels is not None]
    if not levels:
        why = next((one.reason for one in found if one.standing is not Standing.UNSTEADY), found[0].reason)
        return np.empty(0), np.empty(0), f"no levels: {why}"
    return np.array([one.hourly for one in levels]), np.array([one.daily for one in levels]), None


def _first(path: FloatArray, begins: int, needs: float) -> FloatArray:
    """The round after the change in which the path is at `needs` first. Where it was before, that is a false alarm; it
    counts as proven at once, as the process stands there."""
    proven = path[:, begins:] >= needs
    return np.where(proven.any(axis=1), proven.argmax(axis=1) + 1.0, np.inf)
