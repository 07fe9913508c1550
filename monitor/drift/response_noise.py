"""How far lawful answers to one prompt lie apart: what a change has to stand out from, seen in enrolled runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from monitor.drift.calibration import FEWEST_DAYS
from monitor.drift.levels import DAY
from monitor.drift.observation import FloatArray, Observation

# Where nothing was seen yet: a noisy engine, half of whose noise is common to a response, a sixth more or less a day.
TYPICAL, COMMON, DAILY = 0.03, 0.5, 0.15
# Printed digits alone differ by as much.
LEAST = 0.001
# Tokens that fewer responses list say too little.
_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class ResponseNoise:
    """Of log-probabilities: `deviation` is the standard deviation of one, in nats; `common` the part of its variance
    that all tokens of a response share; `daily` the standard deviation of the log of a day's factor on the deviation.
    """

    deviation: float = TYPICAL
    common: float = COMMON
    daily: float = DAILY

    def __post_init__(self) -> None:
        if not self.deviation > 0.0 or not 0.0 <= self.common <= 1.0 or not self.daily >= 0.0:
            raise ValueError(f"noise has a deviation above 0, a common part of 0 to 1 and a daily part from 0: {self}")


class Answers(NamedTuple):
    """Of one run: when, in seconds since 1970, and what came."""

    at: float
    observations: Sequence[Observation]


class _Residuals(NamedTuple):
    """Of one response: its day, the mean over tokens of its residuals, their variance around it, and how many."""

    day: int
    mean: float
    within: float
    tokens: int


def response_noise(runs: Iterable[Answers]) -> ResponseNoise | None:
    """From the anchors of runs that were found unchanged; None where no prompt has two answers to compare.

    A residual is a log-probability less the mean of all responses to its prompt, so what runs differ by is in it. Its
    variance is taken apart by a one-way analysis of variance with responses as groups (Searle, Casella & McCulloch
    1992, §3.6). The daily factor is that of days' deviations, as seen; `DAILY` where fewer than seven days were.
    """
    found = [one for responses in _by_prompt(runs).values() for one in _residuals(responses)]
    if not found:
        return None
    means, within = (np.array([getattr(one, part) for one in found]) for part in ("mean", "within"))
    tokens = np.array([one.tokens for one in found])
    own = float(within.mean())
    shared = max(0.0, float((means**2 - within / tokens).mean()))
    deviation = max(LEAST, float(np.sqrt(own + shared)))
    return ResponseNoise(deviation, shared / (own + shared) if own + shared > 0.0 else COMMON, _daily(found))


def _by_prompt(runs: Iterable[Answers]) -> dict[str, list[tuple[int, Observation]]]:
    prompts: defaultdict[str, list[tuple[int, Observation]]] = defaultdict(list)
    for run in runs:
        for one in run.observations:
            if one.anchor and one.tokens:
                prompts[one.item_key].append((int(run.at // DAY), one))
    return prompts


def _residuals(responses: list[tuple[int, Observation]]) -> list[_Residuals]:
    if len(responses) < 2:
        return []
    listed = [dict(zip(one.tokens, one.logprobs.tolist(), strict=True)) for _, one in responses]
    seen = {token for values in listed for token in values}
    kept = sorted(token for token in seen if sum(token in values for values in listed) >= _SHARE * len(listed))
    if len(kept) < 2:
        return []
    table = np.array([[values.get(token, np.nan) for token in kept] for values in listed])
    counts = np.isfinite(table).sum(axis=0)
    residuals = (table - np.nanmean(table, axis=0)) * np.sqrt(counts / np.maximum(1, counts - 1))
    rows = ((day, row[np.isfinite(row)]) for (day, _), row in zip(responses, residuals, strict=True))
    return [_Residuals(day, float(row.mean()), float(row.var(ddof=1)), row.size) for day, row in rows if row.size > 1]


def _daily(found: list[_Residuals]) -> float:
    squares: defaultdict[int, list[float]] = defaultdict(list)
    for one in found:
        squares[one.day].append(one.mean**2 + one.within)
    means: FloatArray = np.array([np.mean(day) for day in squares.values()])
    if means.size < FEWEST_DAYS or not (means > 0.0).all():
        return DAILY
    return float(np.log(means).std(ddof=1) / 2.0)


def days_of(runs: Iterable[Answers]) -> int:
    return len({int(run.at // DAY) for run in runs})
