"""Whether a likelihood ratio counts toward alarms: where its mean is shown to be at most 1 on lawful replays. Otherwise
it ranks causes, and no more.

`candidates` has a mean of at most 1 under what it lists. Whether a real lawful endpoint (kernels, batches, hours of the
day) is among that is a question of fact. Replays answer it: token streams in which nothing changed, each with its path
of E.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.sequential import BETS


@dataclass(frozen=True, slots=True)
class Shown:
    """`mean` is of the kind of lawful noise that speaks most against it, over `replays`; reason is for people."""

    counts: bool
    mean: float
    replays: int
    reason: str


def stopped(log_values: FloatArray, alpha: float) -> FloatArray:
    """E where it first reaches 1/α, taken as 1/α, or else at the end; log_values [replays, tokens] of log E give
    [replays] in [0, 1/α]. With a mean of at most 1, P(E reaches 1/α) ≤ α (Markov)."""
    threshold = -np.log(alpha)
    reached = log_values.max(axis=1) >= threshold
    return np.asarray(np.where(reached, 1.0 / alpha, np.exp(np.minimum(log_values[:, -1], threshold))))


def counts_toward_alarms(lawful: Mapping[str, FloatArray], *, alpha: float = 1e-3, confidence: float = 0.95) -> Shown:
    """lawful: by kind of lawful noise, log E after every token of independent replays, [replays, tokens].

    It counts where, for every kind, a mean above 1 of `stopped` is refuted at the confidence: by a bet that values in
    [0, 1/α] are below 1, Π (1 + b (1 − x) / (1/α − 1)), which gains nothing on average where their mean is 1 or more
    (Waudby-Smith & Ramdas 2024, JRSSB 86:1). Each kind must pass by itself, so several cost nothing (intersection–union
    test; Berger 1982). About log(1 / (1 − confidence)) / α replays of each are needed: what is not shown is not taken
    for granted.

    This is for values held against 1/α: in an average, α is that of the alarm times the stream's weight. Nothing is
    shown of lawful noise that was not replayed.
    """
    if not 0.0 < alpha < 1.0 or not 0.0 < confidence < 1.0:
        raise ValueError(f"alpha {alpha} and confidence {confidence} lie between 0 and 1")
    if not lawful or not all(p.ndim == 2 and p.size and not np.isnan(p).any() for p in lawful.values()):
        raise ValueError("lawful replays are needed: log E of at least one, [replays, tokens], for every kind")
    tested = [(_won(values := stopped(paths, alpha), alpha), kind, values) for kind, paths in sorted(lawful.items())]
    won, kind, values = min(tested, key=lambda one: one[0])
    mean, replays = float(values.mean()), len(values)
    if won >= -np.log1p(-confidence):
        return Shown(True, mean, replays, f"mean {mean:.2f} on {replays:,} lawful replays ({kind}): shown at most 1")
    if mean > 1.0:
        return Shown(False, mean, replays, f"mean {mean:.2f} on {replays:,} lawful replays ({kind}): it ranks causes")
    more = f"{_needed(mean, alpha, confidence):,} needed" if mean < 1.0 else "its mean is not below 1"
    return Shown(False, mean, replays, f"{replays:,} lawful replays ({kind}) show too little ({more}): it ranks causes")


def _won(values: FloatArray, alpha: float) -> float:
    """Log of what 1, spread evenly over the bets, has become."""
    excess = (1.0 - values) / (1.0 / alpha - 1.0)
    logs = np.log1p(np.array(BETS)[:, np.newaxis] * excess).sum(axis=1)
    return float(np.logaddexp.reduce(logs) - np.log(len(BETS)))


def _needed(mean: float, alpha: float, confidence: float) -> int:
    """Replays at which values that all equal the mean would pass."""
    gain = np.log1p(max(BETS) * (1.0 - mean) / (1.0 / alpha - 1.0))
    return int(np.ceil((np.log(len(BETS)) - np.log1p(-confidence)) / gain))
