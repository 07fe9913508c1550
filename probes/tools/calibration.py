"""Which ambiguous prompts a reference is really in doubt about: two runs of it, a screen and a comparison.

The first run asks every candidate; those it calls a tool on now and then are asked as often again. A prompt is kept
where both runs together show a chance of calling between the bounds, and where the two do not contradict each other:
what differs between two runs of one reference is not stable in time, and would look like a change of the endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import comb

from probes.tools.case import Case
from probes.tools.plan import ToolPlan, plain_plan

REPEATS = 16
LOW, HIGH = Fraction(15, 100), Fraction(85, 100)
# The share of stable prompts that the comparison drops at most; to lose one costs nothing.
ALPHA = Fraction(5, 100)
# Of fewer answers of a run nothing is concluded.
LEAST_ANSWERS = 12


@dataclass(frozen=True, slots=True)
class Count:
    """In how many of the `answers` of one run a tool was called; requests that failed are no answers."""

    calls: int
    answers: int


class Dropped(StrEnum):
    """Why a candidate is not used."""

    FEW_ANSWERS = "few_answers"
    SELDOM = "seldom"
    ALWAYS = "always"
    UNSTABLE = "unstable"


@dataclass(frozen=True, slots=True)
class Calibration:
    """The candidates that are kept, by key, each with both runs' counts together, and the others with the reason."""

    kept: Mapping[str, Count]
    dropped: Mapping[str, Dropped]


def calibration_plan(candidates: Sequence[Case], *, seed: bytes, run_nonce: bytes) -> ToolPlan:
    """One run: every candidate as often as calibration needs it. For the second, give those that `screened` names and
    another nonce."""
    return plain_plan([replace(case, reps=REPEATS) for case in candidates], seed=seed, run_nonce=run_nonce)


def screened(first: Mapping[str, Count]) -> list[str]:
    """The candidates that a second run is worth, by key."""
    return [key for key, count in first.items() if _out_of_doubt(count) is None]


def calibrate(candidates: Sequence[Case], first: Mapping[str, Count], second: Mapping[str, Count]) -> Calibration:
    """What two runs of a reference say about each candidate; one that a run did not answer has no count there."""
    kept: dict[str, Count] = {}
    dropped: dict[str, Dropped] = {}
    for case in candidates:
        one, two = (run.get(case.key, Count(0, 0)) for run in (first, second))
        both = Count(one.calls + two.calls, one.answers + two.answers)
        why = _out_of_doubt(one) or _too_few(two) or _out_of_doubt(both) or _unstable(one, two)
        if why is None:
            kept[case.key] = both
        else:
            dropped[case.key] = why
    return Calibration(kept, dropped)


def disagreement(one: Count, two: Count) -> Fraction:
    """The p-value of Fisher's exact test, two-sided: how often two runs with the same chance of calling, and as many
    calls in all, would come out as unlike as these or more so."""
    calls, answers = one.calls + two.calls, one.answers + two.answers
    least, most = max(0, calls - two.answers), min(calls, one.answers)
    ways = [comb(one.answers, k) * comb(two.answers, calls - k) for k in range(least, most + 1)]
    seen = ways[one.calls - least]
    return Fraction(sum(way for way in ways if way <= seen), comb(answers, calls))


def _out_of_doubt(count: Count) -> Dropped | None:
    """Why the prompt is no longer a candidate after these answers."""
    if few := _too_few(count):
        return few
    share = Fraction(count.calls, count.answers)
    if share <= LOW:
        return Dropped.SELDOM
    return Dropped.ALWAYS if share >= HIGH else None


def _too_few(count: Count) -> Dropped | None:
    return Dropped.FEW_ANSWERS if count.answers < LEAST_ANSWERS else None


def _unstable(one: Count, two: Count) -> Dropped | None:
    return Dropped.UNSTABLE if disagreement(one, two) < ALPHA else None
