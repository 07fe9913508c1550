"""Rounds from a change to its proof, and how well it is dated: simulated, at the level of the endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated.figure import Figure
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
from monitor.drift.decision import DRIFT_AT, weights
from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.onset import onset
from monitor.drift.paths import bets_paths
from monitor.drift.score_stream import Round

ASKED = 10
# Of an endpoint with log-probabilities, and of one without.
WITH = (Tier.PROTOCOL, Tier.LOGPROBS, Tier.GREEDY, Tier.SAMPLING, Tier.DISTRIBUTION, Tier.CAPABILITY)
WITHOUT = (Tier.PROTOCOL, Tier.BORDER, Tier.GREEDY, Tier.DISTRIBUTION, Tier.CAPABILITY)
# The change comes at noon of the second day of the epoch.
_BEFORE = HOURS + HOURS // 2
SHIFTS = {
    "bf16-rounded weights": 0.006,
    "half of int8": 0.035,
    "bf16 compute": 0.045,
    "int8": 0.071,
    "fp8": 0.154,
    "nf4": 0.46,
}
# Goal G1: rounds at each noise, of the changes it names.
_G1 = {0.03: 24.0, 0.06: 48.0}
_G1_CHANGES = ("int8", "fp8", "nf4")
# Goal G3: queries at each share of another model.
_G3 = {1.0: 150.0, 0.5: 300.0, 0.3: 1_100.0, 0.17: None}


@dataclass(frozen=True)
class Proofs:
    """`rounds` from the change to the proof, infinite where there is none in the epoch; `dated`: by how many rounds the
    likeliest first one is off, `covered`: whether the interval holds the change; of those that were proven."""

    rounds: Scores
    dated: Scores
    covered: np.ndarray

    @property
    def median(self) -> float:
        return float(np.median(self.rounds))

    @property
    def missed(self) -> float:
        return float(np.mean(~np.isfinite(self.rounds)))


def needed(tier: Tier, supported: tuple[Tier, ...], of_tier: int = 1) -> float:
    """What one of so many streams of the tier needs for its endpoint's average to prove drift, all others standing at
    1."""
    keys = [StreamKey("e", one, str(place)) for one in supported for place in range(of_tier if one is tier else 1)]
    weight = weights(keys)[StreamKey("e", tier, "0")]
    return (DRIFT_AT - (1.0 - weight)) / weight


def proofs(before: Scores, epoch: Scores, needs: float) -> Proofs:
    """before: scores of the days of baseline, epoch: those after, changed from hour `_BEFORE` on."""
    levels = Calibrated.of(before)
    scores = epoch[levels.ready]
    path = bets_paths(scores, levels.hourly, levels.daily, rounds_a_day=HOURS, epoch_days=EPOCH_DAYS)
    rounds, dated, covered = [], [], []
    for row, values, lawful in zip(scores, path, levels.hourly, strict=True):
        proven = np.flatnonzero(values >= needs)
        rounds.append(proven[0] + 1 - _BEFORE if proven.size else np.inf)
        if proven.size and (found := onset(_timed(row[: proven[0] + 1]), lawful)):
            dated.append(abs(found.first - _BEFORE))
            covered.append((found.after is None or found.after < _BEFORE) and found.until >= _BEFORE)
    return Proofs(np.array(rounds), np.array(dated), np.array(covered))


def _timed(scores: Scores) -> list[Round]:
    return [Round(float(place), score) for place, score in enumerate(scores.tolist())]


def border_proofs(share: float, endpoints: int, *, seed: int = 0) -> Proofs:
    """Days that differ; from the change on, a share of the queries goes to another model."""
    rng = np.random.default_rng(seed)
    rates = day_rates(rng, endpoints, CALIBRATION_DAYS + EPOCH_DAYS)
    known = CALIBRATION_DAYS * HOURS
    still, moved = border_rounds(rng, rates, ASKED), border_rounds(rng, mixed(rates, share), ASKED)
    epoch = np.concatenate([still[:, known : known + _BEFORE], moved[:, known + _BEFORE :]], axis=1)
    return proofs(still[:, :known], epoch, needed(Tier.BORDER, WITHOUT))


def fingerprint_proofs(noise: float, shift: float, endpoints: int, *, days: int = 12, seed: int = 0) -> Proofs:
    """Days that do not differ, as in the table of DETECTION.md §2.10; looked at for `days` days of the epoch."""
    rng = np.random.default_rng(seed)
    endpoint = Fingerprint.of(rng, endpoints, noise)
    still = endpoint.rounds(rng, CALIBRATION_DAYS + 2)
    moved = endpoint.rounds(rng, days, shift)
    known = CALIBRATION_DAYS * HOURS
    epoch = np.concatenate([still[:, known : known + _BEFORE], moved], axis=1)
    return proofs(still[:, :known], epoch, needed(Tier.LOGPROBS, WITH))


def border_delays(endpoints: int, *, seed: int = 0) -> Iterator[Figure]:
    for share, most in _G3.items():
        found = border_proofs(share, endpoints, seed=seed)
        what, goal = f"T2, {share:.0%} another model", "G3" if most else ""
        yield Figure(f"{what}: median queries ({endpoints})", found.median * ASKED, "queries", most, goal)
        yield Figure(f"{what}: not proven in the epoch", found.missed, "")


def fingerprint_delays(endpoints: int, *, seed: int = 0) -> Iterator[Figure]:
    for noise in (0.01, 0.03, 0.06):
        for name, shift in SHIFTS.items():
            found = fingerprint_proofs(noise, shift, endpoints, seed=seed)
            most = _G1.get(noise) if name in _G1_CHANGES else None
            what = f"T1, noise {noise:g} nat, {name}: median rounds ({endpoints})"
            yield Figure(what, found.median, "rounds", most, "G1" if most else "")


def dates(endpoints: int, *, seed: int = 0) -> list[Figure]:
    swap, int8 = (
        border_proofs(1.0, endpoints, seed=seed),
        fingerprint_proofs(0.03, SHIFTS["int8"], endpoints, seed=seed),
    )
    half = border_proofs(0.5, endpoints, seed=seed)
    return [
        Figure(
            f"T2, swap: median error of the onset ({endpoints})", float(np.median(swap.dated)), "rounds", 2.0, "G10"
        ),
        Figure(f"T1, int8 at 0.03 nat: the same ({endpoints})", float(np.median(int8.dated)), "hours", 12.0, "G10"),
        Figure("T2, swap: the interval holds the change", float(swap.covered.mean()), ""),
        Figure("T1, int8: the same", float(int8.covered.mean()), ""),
        Figure(f"T2, half another model: median error ({endpoints})", float(np.median(half.dated)), "rounds"),
        Figure("T2, half another model: the interval holds the change", float(half.covered.mean()), ""),
    ]
