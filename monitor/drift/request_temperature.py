"""Log-probabilities under two requested temperatures: are they those before the sampler, and does it do as asked?

Before the sampler ("raw") they do not depend on the request. After it ("processed") log-odds at temperature T are those
of the model over T, so between two temperatures they differ by a factor of T₁ / T₂, whatever the model. A draw is then
always as likely as is said, and nothing can be learnt from draws; that factor is watched in their place. A temperature
that is ignored, bounded or moved by a constant changes it; one that is multiplied does not: against log-odds at
enrolment, asked at the same temperature, it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from monitor.drift.evidence import Evidence, Inapplicable, Scores, StreamKey
from monitor.drift.observation import FloatArray

# Of log-odds, between log-probabilities before and after the sampler: how far either may be missed.
_NEAR = 0.25
# A factor that is off by a quarter is as bad as can be.
_WORST = float(np.log(1.25))
_FEWEST_TOKENS = 3


class LogprobsMode(StrEnum):
    RAW = "raw"
    PROCESSED = "processed"
    UNCLEAR = "unclear"


class Pair(NamedTuple):
    """Log-probabilities of the same tokens of one prompt, nat, [tokens], nan where a token is not in both lists; asked
    at these temperatures. `one` may be from enrolment."""

    one: FloatArray
    other: FloatArray
    temperatures: tuple[float, float] = (1.0, 1.0)

    @property
    def asked(self) -> float:
        return self.temperatures[0] / self.temperatures[1]

    @property
    def factor(self) -> float | None:
        """By which log-odds at the second differ from those at the first, by least squares; None where fewer than three
        tokens are in both, or they are all alike."""
        both = np.isfinite(self.one) & np.isfinite(self.other)
        if both.sum() < _FEWEST_TOKENS:
            return None
        one, other = (side[both] - side[both].mean() for side in (self.one, self.other))
        spread = float((one**2).sum())
        found = float((one * other).sum()) / spread if spread > 0.0 else 0.0
        return found if found > 0.0 else None


def logprobs_mode(pairs: Sequence[Pair]) -> LogprobsMode:
    """By the median factor. Raises ValueError without a pair whose temperatures differ by a fifth at least."""
    telling = [pair for pair in pairs if abs(np.log(pair.asked)) >= np.log(1.2)]
    if not telling:
        raise ValueError("no pair of temperatures differs by a fifth: ask at 1 and at 0.5")
    moved = [float(np.log(found) / np.log(pair.asked)) for pair in telling if (found := pair.factor) is not None]
    if not moved:
        return LogprobsMode.UNCLEAR
    median = float(np.median(moved))
    if abs(median) <= _NEAR:
        return LogprobsMode.RAW
    return LogprobsMode.PROCESSED if abs(median - 1.0) <= _NEAR else LogprobsMode.UNCLEAR


def of_factors(stream: StreamKey, at: float, pairs: Sequence[Pair], *, tokens: int = 0) -> Evidence:
    """A round's pairs, one score each: how far the factor is from the one asked for, |log(found / asked)|, over log
    1.25. The null is that their mean stays at the level of the endpoint's own days (Null.LAWFUL_MEAN)."""
    found = [(pair.factor, pair.asked) for pair in pairs]
    offs = [abs(float(np.log(factor / asked))) for factor, asked in found if factor is not None]
    if not offs:
        why = "log-probabilities at two temperatures have too few tokens in common"
        return Evidence(stream, at, Inapplicable(why), len(pairs), tokens)
    reason = f"log-odds differ from what the temperatures ask for by a factor of {np.exp(np.median(offs)):.3f}"
    scores = tuple(min(1.0, off / _WORST) for off in offs)
    return Evidence(stream, at, Scores(scores), len(offs), tokens, (reason,))
