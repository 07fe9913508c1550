"""Has an endpoint become slower or faster than in the weeks before, at the same hours and for prompts of the same size?

A busy day is slow as well, at all of its hours. So a shift counts that holds for three days, each of them alone; and
it is told as a suspicion at most, since no reference tells a slower stack from a busier one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.findings import Finding
from monitor.drift.latency_shift import Hour, LatencyShift, latency_shift
from monitor.drift.multiplicity import shared
from monitor.drift.rule import SUSPECT_P, Verdict

DAYS, WEEKS = 3, 4
# As many days before count.
REACH = DAYS + 7 * WEEKS
# Of fewer hours nothing is concluded: with three against twelve, p of the clearest shift is below 0.01.
_LEAST_NEW, _LEAST_BEFORE = DAYS, 12


@dataclass(frozen=True, slots=True)
class Timed:
    """The median seconds of one hour's streams, of prompts of one size: `hour` of the day, so many `days` ago."""

    days: float
    hour: int
    bucket: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Move:
    """The last days together against the weeks before; `held`: each of them alone lies beyond a fifth, on one side."""

    found: LatencyShift
    held: bool


def moved(times: Sequence[Timed]) -> Move | None:
    """None where too few hours have both."""
    known = [one for one in times if one.seconds > 0.0]
    before = [one for one in known if DAYS <= one.days < REACH]
    days = [[one for one in known if day <= one.days < day + 1] for day in range(DAYS)]
    hours = _hours(before, (one for day in days for one in day))
    found = latency_shift(hours)
    if found is None or found.n < _LEAST_NEW or sum(hour.baseline.size for hour in hours) < _LEAST_BEFORE:
        return None
    alone = [latency_shift(_hours(before, day)) for day in days]
    sides = {0 if one is None or not one.is_far else 1 if one.shift > 0.0 else -1 for one in alone}
    return Move(found, sides in ({1}, {-1}))


def latency_finding(moves: Mapping[str, Move | None], shares: int = 1) -> Finding | None:
    """What the moves of several times say together, with Bonferroni's p, also for the `shares` of the check; None where
    there is nothing to compare."""
    known = {name: move for name, move in moves.items() if move is not None}
    if not known:
        return None
    p = shared({name: move.found.p for name, move in known.items()}, len(known) * shares)
    told = [name for name, move in known.items() if move.held and p[name] <= SUSPECT_P and move.found.is_far]
    still = all(move.found.is_within for move in known.values())
    verdict = Verdict.SUSPECT if told else Verdict.OK if still else Verdict.INCONCLUSIVE
    words = [f"{name} {known[name].found.shift:+.0%} for {DAYS} days" for name in told]
    return Finding(verdict, "; ".join(words), unit="s", adjusted_p=min(p.values()))


def _hours(before: Iterable[Timed], new: Iterable[Timed]) -> list[Hour]:
    sides = (_by_hour(before), _by_hour(new))
    return [Hour(*(np.array(side[key]) for side in sides)) for key in sides[0] if key in sides[1]]


def _by_hour(times: Iterable[Timed]) -> dict[tuple[str, int], list[float]]:
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for one in times:
        found[one.bucket, one.hour].append(one.seconds)
    return dict(found)
