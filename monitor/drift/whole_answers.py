"""Whole answers against fresh ones of the reference: three tests, and one evidence of them all (DETECTION.md §2.3, T5).

The null is that the endpoint draws whole answers as the reference does, at the setting that was asked for. The
reference draws anew for every round and no draw is used twice, so a round's p is exact given all rounds before, and
rounds multiply (DETECTION.md finding 5: with one stored sample for all rounds 10 % of epochs alarm where 1 % may). A
caller that does use draws again has to say Combining.AVERAGE.

It is equality with one profile, from which lawful stacks differ: `of_allowed` takes of each factor what the allowed
profile says that explains it best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from monitor.drift import rank_uniformity, repeated_answers
from monitor.drift.answers import Sides
from monitor.drift.comparable import why_not_drawn_anew, why_not_ranked, why_not_repeated
from monitor.drift.evidence import Combining, Evidence, ExactP, Factors, Inapplicable, Null, StreamKey
from monitor.drift.rank_uniformity import Uniformity, uniformity
from monitor.drift.repeated_answers import Compared, compare
from monitor.drift.sequential import calibrated


def of_ranks(
    stream: StreamKey,
    at: float,
    sides: Sides,
    rng: np.random.Generator,
    *,
    combining: Combining = Combining.MULTIPLY,
    tokens: int = 0,
    draws: int = rank_uniformity.DRAWS,
) -> Evidence:
    """The first answer to each prompt ranked among the reference's: 100 single-use prompts, 100 fresh answers of the
    reference to each."""
    found = _ranks(sides, rng, draws)
    if isinstance(found, Inapplicable):
        return Evidence(stream, at, found, len(sides.endpoint), tokens)
    return Evidence(stream, at, ExactP(found.p, Null.REFERENCE, combining), found.prompts, tokens, (str(found),))


def of_distance(
    stream: StreamKey,
    at: float,
    sides: Sides,
    rng: np.random.Generator,
    *,
    combining: Combining = Combining.MULTIPLY,
    tokens: int = 0,
    draws: int = repeated_answers.DRAWS,
) -> Evidence:
    """The squared distance in canonical tokens: 25 prompts, ten answers of either side to each. What whitespace alone
    makes is told and counts nothing."""
    found = _repeated(sides, rng, draws)
    if isinstance(found, Inapplicable):
        return Evidence(stream, at, found, len(sides.endpoint), tokens)
    says = ExactP(found.distance.p, Null.REFERENCE, combining)
    reasons = tuple(filter(None, (found.distance_words, found.formatting_words)))
    return Evidence(stream, at, says, found.answers, tokens, reasons)


def of_likelihood(
    stream: StreamKey,
    at: float,
    sides: Sides,
    rng: np.random.Generator,
    *,
    combining: Combining = Combining.MULTIPLY,
    tokens: int = 0,
    draws: int = repeated_answers.DRAWS,
) -> Evidence:
    """How much less likely the endpoint's answers are than the reference's own, paired by prompt. It shares answers
    with `of_distance`: the two are averaged, never multiplied."""
    found = _repeated(sides, rng, draws)
    if isinstance(found, Inapplicable):
        return Evidence(stream, at, found, len(sides.endpoint), tokens)
    says = ExactP(found.moved.p, Null.REFERENCE, combining)
    return Evidence(stream, at, says, found.answers, tokens, (found.moved_words,))


def of_whole_answers(
    stream: StreamKey,
    at: float,
    once: Sides | None,
    repeated: Sides | None,
    rng: np.random.Generator,
    *,
    combining: Combining = Combining.EACH,
    tokens: int = 0,
) -> Evidence:
    """A round's three tests as factors, one for each test and calibrator. They share answers, so they are averaged:
    each is multiplied over rounds, and the products averaged. A test that is inapplicable keeps its part of the stake.

    once: single answers to many prompts, for the ranks; without them those are of the first answers of `repeated`.
    Raises ValueError where neither was asked.
    """
    asked = [sides for sides in (once, repeated) if sides is not None]
    if not asked:
        raise ValueError("no answers were asked for: give `once`, `repeated` or both")
    ranks = _ranks(asked[0], rng, rank_uniformity.DRAWS)
    several: Compared | Inapplicable = Inapplicable("no prompt was asked repeatedly")
    if repeated is not None:
        several = _repeated(repeated, rng, repeated_answers.DRAWS)
    n = sum(len(sides.endpoint) for sides in asked)
    if isinstance(ranks, Inapplicable) and isinstance(several, Inapplicable):
        return Evidence(stream, at, Inapplicable("; ".join(_once_each(ranks.reason, several.reason))), n, tokens)
    unbet = (1.0,) * len(tuple(calibrated(1.0)))
    factors = [tuple(calibrated(ranks.p)) if isinstance(ranks, Uniformity) else unbet]
    if isinstance(several, Compared):
        factors += [tuple(calibrated(test.p)) for test in (several.distance, several.moved)]
    else:
        factors += [unbet, unbet]
    says = Factors(tuple(factor for of_test in factors for factor in of_test), Null.REFERENCE, combining)
    return Evidence(stream, at, says, n, tokens, (*_words(ranks), *_words(several)))


def of_allowed(found: Sequence[Evidence]) -> Evidence:
    """One round against each allowed profile of the reference, as evidence that it is none of them: the least of each
    factor, or the largest p, which says no more than that of the profile it is (the composite null of Gao et al. 2025).
    Reasons are those of the profile that fits best. Inapplicable where it is so under any.

    Raises ValueError for nothing, and for evidence of different streams or kinds.
    """
    if len({(one.stream, one.at) for one in found}) != 1:
        raise ValueError("one round of one stream is expected, once against each allowed profile")
    for one in found:
        if isinstance(one.says, Inapplicable):
            return one
    says = [one.says for one in found]
    factors = [one for one in says if isinstance(one, Factors)]
    exact = [one for one in says if isinstance(one, ExactP)]
    if len(factors) == len(says):
        least = tuple(map(min, zip(*(one.factors for one in factors), strict=True)))
        best = min(found, key=lambda one: sum(one.says.factors) if isinstance(one.says, Factors) else 0.0)
        return replace(best, says=replace(factors[0], factors=least))
    if len(exact) == len(says):
        return max(found, key=lambda one: one.says.p if isinstance(one.says, ExactP) else 0.0)
    raise ValueError(f"evidence of one kind is expected: {sorted({type(one).__name__ for one in says})}")


def _ranks(sides: Sides, rng: np.random.Generator, draws: int) -> Uniformity | Inapplicable:
    why = why_not_ranked(sides)
    return uniformity(sides, rng, draws) if why is None else Inapplicable(why)


def _repeated(sides: Sides, rng: np.random.Generator, draws: int) -> Compared | Inapplicable:
    if (why := why_not_repeated(sides)) is not None:
        return Inapplicable(why)
    found = compare(sides, rng, draws)
    why = why_not_drawn_anew(found)
    return found if why is None else Inapplicable(why)


def _once_each(*reasons: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reasons))


def _words(found: Uniformity | Compared | Inapplicable) -> tuple[str, ...]:
    match found:
        case Uniformity():
            return (str(found),)
        case Inapplicable():
            return (found.reason,)
        case Compared():
            return tuple(filter(None, (found.distance_words, found.moved_words, found.formatting_words)))
