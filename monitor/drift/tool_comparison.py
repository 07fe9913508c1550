"""Scored tool-call answers side by side: an endpoint's and its reference's, and streamed and plain twins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.rates import Rate, clustered_rate
from monitor.drift.trigger import Paired, gap
from probes.tools.attribution import Layer, layer_of
from probes.tools.case import Category
from probes.tools.scored import Scored

# Where calling is the model's choice: T3 carries the shift of all prompts, T1 and T2 the few that moved far.
TRIGGER_CATEGORIES = frozenset({Category.T1, Category.T2, Category.T3, Category.T4})


@dataclass(frozen=True, slots=True)
class Triggers:
    """Calling a tool, over the prompts that both sides answered.

    f1: with the reference as truth, over all pairs of answers of a prompt. self_f1: what the reference shows against
    itself; an endpoint is measured against this, not against 1. gap: the unbiased squared distance of the two sides,
    its numerator the sum over prompts with several answers on both.
    """

    paired: Paired
    f1: Rate
    self_f1: Rate
    gap: Rate


@dataclass(frozen=True, slots=True)
class Discordant:
    """Pairs in which one mode alone did it."""

    only_stream: int
    only_plain: int


@dataclass(frozen=True, slots=True)
class Twins:
    """Answers to the same case and repeat, one streamed and one not. They agree where the stack shows the same defects
    in both and both call or neither does."""

    agreement: Rate
    called: Discordant
    defective: Discordant
    wrong: Discordant


def compare_triggers(endpoint: Iterable[Scored], reference: Iterable[Scored]) -> Triggers:
    """Of the categories where calling is the model's choice."""
    ours, theirs = _called(endpoint), _called(reference)
    keys = [key for key in ours if key in theirs]
    x, r_x = _totals(ours, keys)
    y, r_y = _totals(theirs, keys)
    paired = Paired.of(x, r_x, y, r_y)
    p, q = paired.p, paired.q
    several = paired.r_y > 1
    called, asked = paired.y[several], paired.r_y[several]
    again = called * (called - 1) / (asked * (asked - 1))
    one_sided = len(ours.keys() ^ theirs.keys())
    return Triggers(
        paired,
        _ratio(2.0 * p * q, p + q, {"not_in_both": one_sided}),
        _ratio(again, q[several], {"not_in_both": one_sided, "asked_once": int((~several).sum())}),
        _gap(paired, one_sided),
    )


def judged_twins(answers: Iterable[Scored]) -> list[tuple[Scored, Scored]]:
    """Each streamed answer with its twin, where both are judged."""
    return [pair for pair in _pairs(answers) if _why_not(pair) is None]


def compare_twins(answers: Iterable[Scored]) -> Twins:
    """A pair counts where both answers are judged."""
    pairs = _pairs(answers)
    judged = [pair for pair in pairs if _why_not(pair) is None]
    agrees: dict[str, list[bool]] = defaultdict(list)
    for stream, plain in judged:
        same = _defects(stream) == _defects(plain) and stream.called == plain.called
        agrees[stream.case_key].append(same)
    excluded: dict[str, int] = defaultdict(int)
    for pair in pairs:
        if (reason := _why_not(pair)) is not None:
            excluded[reason] += 1
    return Twins(
        clustered_rate([sum(one) for one in agrees.values()], [len(one) for one in agrees.values()], excluded=excluded),
        called=_discordant([(stream.called is True, plain.called is True) for stream, plain in judged]),
        defective=_discordant([(bool(_defects(stream)), bool(_defects(plain))) for stream, plain in judged]),
        wrong=_discordant([(stream.right is False, plain.right is False) for stream, plain in judged]),
    )


def _called(answers: Iterable[Scored]) -> dict[str, list[bool]]:
    """Of each case whether its answers called; those that say nothing of it are not there."""
    found: dict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        if answer.category in TRIGGER_CATEGORIES and answer.excluded is None and answer.called is not None:
            found[answer.case_key].append(answer.called)
    return dict(found)


def _totals(called: dict[str, list[bool]], keys: list[str]) -> tuple[list[int], list[int]]:
    return [sum(called[key]) for key in keys], [len(called[key]) for key in keys]


def _ratio(parts: FloatArray, wholes: FloatArray, excluded: dict[str, int]) -> Rate:
    """Σ parts / Σ wholes over prompts, with the linearised interval of a ratio and t for few prompts.

    The denominator is the number of prompts, and the numerator what makes the value the ratio.
    """
    from scipy.special import stdtrit  # scipy.stats, which has it ready, takes 45 MB of every worker

    n, whole = len(parts), float(wholes.sum())
    excluded = {reason: times for reason, times in excluded.items() if times}
    if not whole:
        return Rate(0, 0, excluded, None, None, "linearised")
    value = float(parts.sum()) / whole
    if n < 2:
        return Rate(value * n, n, excluded, None, None, "linearised")
    error = float(np.sqrt(n / (n - 1) * ((parts - value * wholes) ** 2).sum())) / whole
    margin = error * float(stdtrit(n - 1, 0.975))
    return Rate(value * n, n, excluded, max(0.0, value - margin), min(1.0, value + margin), "linearised")


def _gap(paired: Paired, one_sided: int) -> Rate:
    """Its p is `trigger_test`'s; an interval around a squared distance of 0 would tell nothing."""
    several = int(((paired.r_x > 1) & (paired.r_y > 1)).sum())
    excluded = {"not_in_both": one_sided, "asked_once": len(paired) - several}
    left_out = {reason: times for reason, times in excluded.items() if times}
    return Rate(gap(paired) if several else 0, several, left_out, None, None, "u-statistic")


def _pairs(answers: Iterable[Scored]) -> list[tuple[Scored, Scored]]:
    modes: dict[tuple[str, int], dict[bool, Scored]] = defaultdict(dict)
    for answer in answers:
        modes[answer.case_key, answer.rep].setdefault(answer.stream, answer)
    return [(mode[True], mode[False]) for mode in modes.values() if len(mode) == 2]


def _why_not(pair: tuple[Scored, Scored]) -> str | None:
    return next((str(answer.excluded) for answer in pair if answer.excluded is not None), None)


def _defects(answer: Scored) -> frozenset[str]:
    return frozenset(quirk for quirk in answer.defects if layer_of(quirk) is Layer.STACK)


def _discordant(pairs: list[tuple[bool, bool]]) -> Discordant:
    return Discordant(pairs.count((True, False)), pairs.count((False, True)))
