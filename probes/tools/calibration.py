"""Which ambiguous prompts a reference is really in doubt about: two runs of it, a screen and a comparison.

The first run asks every candidate; those it calls a tool on now and then are asked as often again. A prompt is kept
where both runs together show a chance of calling between the bounds, and where the two do not contradict each other:
what differs between two runs of one reference is not stable, and would look like a change of the endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache
from math import comb

from probes.tools.case import Case

REPEATS = 16
# Of a run, whose answers to a prompt are looked at after every so many.
LOOK = 8
LOW, HIGH = Fraction(15, 100), Fraction(85, 100)
# A prompt is given up where it is less likely than this to lie between the bounds. Eight answers that all call, or none
# of which does, are enough; all sixteen would have decided otherwise on 3.5 % of prompts at most, at any chance.
OUT_OF_REACH = Fraction(1, 4)
# The share of stable prompts that the comparison drops at most; to lose one costs nothing.
ALPHA = Fraction(5, 100)
# Of fewer answers of a run nothing is concluded.
LEAST_ANSWERS = 12
# With fewer prompts there would not even be the anchors of an epoch.
FEWEST = 12
# Twenty of each family. Where they leave none in doubt, the others are not asked: were twelve of all 400 to be kept,
# that would happen once in 180 times.
FIRST_PART = 140


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
    UNASKED = "unasked"


@dataclass(frozen=True, slots=True)
class Calibration:
    """The candidates that are kept, by key, each with both runs' counts together, and the others with the reason."""

    kept: Mapping[str, Count]
    dropped: Mapping[str, Dropped]


def enough(kept: int) -> bool:
    """Whether so many prompts are worth asking."""
    return kept >= FEWEST


def screened(first: Mapping[str, Count]) -> list[str]:
    """The candidates that a second run is worth, by key."""
    return [key for key, count in first.items() if _out_of_doubt(count) is None]


def given_up(count: Count, left: int) -> bool:
    """Whether the `left` answers that are to come in the first run are not worth asking for."""
    return count.answers + left < LEAST_ANSWERS or _out_of_reach(count) is not None


@cache
def chance_of_doubt(count: Count) -> Fraction:
    """How likely the chance of calling lies between the bounds after these answers, were all chances alike before
    (a uniform prior, by which seven in ten lie there)."""
    return _chance_below(HIGH, count) - _chance_below(LOW, count)


def calibrate(candidates: Sequence[Case], first: Mapping[str, Count], second: Mapping[str, Count]) -> Calibration:
    """What two runs of a reference say about each candidate; one that a run did not ask has no count there."""
    kept: dict[str, Count] = {}
    dropped: dict[str, Dropped] = {}
    for case in candidates:
        one, two = (run.get(case.key, Count(0, 0)) for run in (first, second))
        both = Count(one.calls + two.calls, one.answers + two.answers)
        unasked = None if case.key in first else Dropped.UNASKED
        why = unasked or _out_of_doubt(one) or _too_few(two) or _out_of_doubt(both) or _unstable(one, two)
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
    if why := _out_of_reach(count) or _too_few(count):
        return why
    share = Fraction(count.calls, count.answers)
    if share <= LOW:
        return Dropped.SELDOM
    return Dropped.ALWAYS if share >= HIGH else None


def _out_of_reach(count: Count) -> Dropped | None:
    if chance_of_doubt(count) >= OUT_OF_REACH:
        return None
    return Dropped.SELDOM if 2 * count.calls < count.answers else Dropped.ALWAYS


def _chance_below(bound: Fraction, count: Count) -> Fraction:
    """The beta distribution's, as the binomial's sum."""
    draws = count.answers + 1
    return sum(
        (comb(draws, k) * bound**k * (1 - bound) ** (draws - k) for k in range(count.calls + 1, draws + 1)), Fraction(0)
    )


def _too_few(count: Count) -> Dropped | None:
    return Dropped.FEW_ANSWERS if count.answers < LEAST_ANSWERS else None


def _unstable(one: Count, two: Count) -> Dropped | None:
    return Dropped.UNSTABLE if disagreement(one, two) < ALPHA else None
