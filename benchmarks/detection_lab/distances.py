"""How far changes move the first token, beside the figures of the pilot study (its Table D)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.first_tokens import FirstTokens, FirstTokenStore
from benchmarks.detection_lab.lawful import listed, side_by_side
from benchmarks.detection_lab.rivals import lt

Floats = NDArray[np.float64]

TIGHTEST = 20
# Of the pilot's means. What its other columns are shares of is 801 prompts, and 20 for the tightest.
PILOT_PROMPTS, PILOT_MEANS = 801, 100


@dataclass(frozen=True, slots=True)
class Published:
    """Of one change: LT's statistic on the prompt x, and its mean over prompts with 20 and 5 log-probabilities; KL, all
    in nats; and the shares of prompts whose most likely token changes, of all and of the 20 tightest."""

    on_x: float
    top_20: float
    top_5: float
    kl: float
    flips: float
    tight_flips: float


TABLE_D: Mapping[str, Published] = {
    "bf16-weights": Published(0.0048, 0.0057, 0.0047, 3.1e-5, 0.004, 0.15),
    "noise-0.001": Published(0.0115, 0.0087, 0.0100, 6.0e-5, 0.006, 0.25),
    "bf16": Published(0.039, 0.045, 0.044, 0.0018, 0.033, 0.50),
    "noise-0.01": Published(0.077, 0.066, 0.055, 0.0041, 0.034, 0.40),
    "w8-channel": Published(0.077, 0.071, 0.054, 0.0045, 0.025, 0.45),
    "fp8-e4m3": Published(0.174, 0.154, 0.133, 0.023, 0.039, 0.35),
    "w8-tensor": Published(0.320, 0.296, 0.294, 0.097, 0.085, 0.60),
    "system-prompt": Published(0.494, 0.360, 0.342, 0.194, 0.37, 0.60),
    "nf4": Published(0.678, 0.460, 0.342, 0.318, 0.16, 0.45),
    "w4-g64": Published(0.654, 0.607, 0.640, 0.708, 0.88, 0.65),
}


@dataclass(frozen=True, slots=True)
class Distance:
    """As Published, measured here; the two means with their standard deviations over prompts."""

    prompts: int
    on_x: float
    top_20: float
    top_20_deviation: float
    top_5: float
    top_5_deviation: float
    kl: float
    flips: float
    tight_flips: float

    def top_20_away(self, published: Published) -> float:
        """From the published mean, in standard errors of the difference of two such means."""
        return _away(self.top_20, published.top_20, self.top_20_deviation, self.prompts)

    def top_5_away(self, published: Published) -> float:
        return _away(self.top_5, published.top_5, self.top_5_deviation, self.prompts)


def _away(ours: float, theirs: float, deviation: float, prompts: int) -> float:
    return (ours - theirs) / (deviation * float(np.sqrt(1 / prompts + 1 / PILOT_MEANS)))


def distance(unchanged: FirstTokens, changed: FirstTokens) -> Distance:
    top_20, top_5 = (lt_statistics(unchanged, changed, k) for k in (20, 5))
    flipped = unchanged.ids[:, 0] != changed.ids[:, 0]
    return Distance(
        prompts=len(flipped),
        on_x=float(top_20[0]),
        top_20=float(top_20.mean()),
        top_20_deviation=float(top_20.std(ddof=1)),
        top_5=float(top_5.mean()),
        top_5_deviation=float(top_5.std(ddof=1)),
        kl=float(kl(unchanged, changed).mean()),
        flips=float(flipped.mean()),
        tight_flips=float(flipped[tightest(unchanged)].mean()),
    )


def lt_statistics(unchanged: FirstTokens, changed: FirstTokens, k: int) -> Floats:
    """LT's statistic of one response a side without noise, [prompts]."""
    return np.array([float(lt.statistic(*sides)) for sides in _sides(unchanged, changed, k)])


def _sides(unchanged: FirstTokens, changed: FirstTokens, k: int) -> list[tuple[Floats, Floats]]:
    rows = zip(unchanged.ids, unchanged.logprobs, changed.ids, changed.logprobs, strict=True)
    both = (side_by_side(*row) for row in rows)
    return [(listed(ours[None], k), listed(theirs[None], k)) for ours, theirs in both]


def kl(unchanged: FirstTokens, changed: FirstTokens) -> Floats:
    """Of the changed stack from the unchanged one, in nats, [prompts]: over the tokens kept and a bucket for the rest,
    which makes it no larger than it is.
    """
    p, q = np.exp(unchanged.logprobs), np.exp(changed.at_unchanged)
    p_rest, q_rest = (np.maximum(1.0 - side.sum(axis=1), 1e-12) for side in (p, q))
    kept = (p * (unchanged.logprobs - changed.at_unchanged)).sum(axis=1)
    return np.asarray(kept + p_rest * np.log(p_rest / q_rest))


def tightest(unchanged: FirstTokens, count: int = TIGHTEST) -> NDArray[np.intp]:
    """The prompts whose two most likely tokens are nearest to a tie."""
    return np.argsort(unchanged.logprobs[:, 0] - unchanged.logprobs[:, 1], kind="stable")[:count]


def table_d(store: FirstTokenStore, prompts: int) -> dict[str, Distance]:
    unchanged = store.get(UNCHANGED, prompts)
    return {name: distance(unchanged, store.get(CHANGES[name], prompts)) for name in TABLE_D}
