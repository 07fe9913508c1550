"""Parameters that narrow what is sampled (temperature, top_p, top_k, seed): judged by whether twins say the same.

Two requests alike in every byte are a pair. In the free arm nothing narrows the draw, in the held arm the parameter
should let nothing but one answer through. No shape of any distribution is assumed; the bounds are these.

ACTS: at an endpoint that ignores the parameter, a prompt's pair agrees in either arm with the same probability aᵢ. The
number of held pairs that agree plus that of free pairs that do not is then a sum of 2n independent indicators with mean
n, whatever the aᵢ are, and exceeds n + d − 1 with at most P(Bin(2n, ½) ≥ n + d) (Hoeffding 1956, theorem 4).

IGNORED: an endpoint that honours it makes a held pair agree with at least HELD_AGREES, and draws a free pair's answers
alike with at most FREE_AGREES. Kernels whose sums depend on the batch and nearly equal tokens cost held pairs some of
their agreement; the first words of open prompts at a high temperature hardly ever come twice.
"""

from __future__ import annotations

import math
from collections import Counter

from probes.parameters.judgement import ALPHA_ACTS, ALPHA_IGNORED, Effect, Judgement
from probes.parameters.trial import Arm, Fate, answer_of, fates, said

HELD_AGREES = 0.8
FREE_AGREES = 0.2


def judge_narrowing(parameter: str, free: Arm, held: Arm) -> Judgement:
    """Of top_p, top_k and seed. Where free answers agree, nothing is drawn that could be narrowed."""
    return _judge(parameter, free, held, tells_by_free=False)


def judge_temperature(free: Arm, held: Arm) -> Judgement:
    """Here free answers that agree are evidence of their own: of an endpoint that is greedy whatever it is told."""
    return _judge("temperature", free, held, tells_by_free=True)


def _judge(parameter: str, free: Arm, held: Arm, *, tells_by_free: bool) -> Judgement:
    if refused := judge_refusals(parameter, "", held):
        return refused
    compared = [
        (alike, apart)
        for place in sorted(held.samples)
        if (alike := agree(held, place)) is not None and (apart := agree(free, place)) is not None
    ]
    n = len(compared)
    held_agree, free_agree = (sum(side) for side in zip(*compared, strict=True)) if compared else (0, 0)
    counts = {"pairs": n, "held_agree": held_agree, "free_agree": free_agree, **_excluded(parameter, free, held)}

    def found(effect: Effect, reason: str, error: float | None = None) -> Judgement:
        return Judgement(parameter, "", effect, reason, counts, error)

    acts = at_least(2 * n, 0.5, n + held_agree - free_agree)
    loose = 1 - at_least(n, HELD_AGREES, held_agree + 1)
    stuck = at_least(n, FREE_AGREES, free_agree)
    if acts <= ALPHA_ACTS:
        return found(Effect.ACTS, "held answers agree where free ones do not", acts)
    # There are two ways to be found ignoring.
    if loose <= ALPHA_IGNORED / 2:
        return found(Effect.IGNORED, "answers differ that should be one", loose)
    if tells_by_free and stuck <= ALPHA_IGNORED / 2:
        return found(Effect.IGNORED, "answers are the same at a high temperature", stuck)
    if at_least(2 * n, 0.5, 2 * n) > ALPHA_ACTS:
        return found(Effect.UNCLEAR, "too few samples")
    if free_agree == n:
        return found(Effect.UNCLEAR, "free answers do not differ either")
    return found(Effect.UNCLEAR, "the arms do not differ enough to tell")


def judge_refusals(parameter: str, aspect: str, arm: Arm) -> Judgement | None:
    """What an arm says where it was refused rather than answered; None where none of it was."""
    seen = fates(arm, parameter)
    counts = {fate.value: count for fate, count in seen.items()}
    if not seen[Fate.REFUSED] and not seen[Fate.REFUSED_UNNAMED]:
        return None
    if seen[Fate.ANSWERED]:
        return Judgement(parameter, aspect, Effect.UNCLEAR, "refused at times", counts)
    if seen[Fate.REFUSED]:
        return Judgement(parameter, aspect, Effect.REFUSED, "a 4xx names it", counts)
    return Judgement(parameter, aspect, Effect.UNCLEAR, "refused without naming it", counts)


def agree(arm: Arm, place: int) -> bool | None:
    """Whether the pair says the same; None where one is missing or silent, or a cache gave the other's answer again."""
    answers = [answer_of(sample) for sample in arm.at(place)]
    if len(answers) != 2:
        return None
    one, other = answers
    if one is None or other is None or not said(one) or not said(other):
        return None
    return None if one.id == other.id and _is_of_one_answer(arm, one.id) else said(one) == said(other)


def _is_of_one_answer(arm: Arm, answer_id: str | None) -> bool:
    """Whether an id tells answers apart: some endpoints give none, or all the same."""
    places = {
        place
        for place, samples in arm.samples.items()
        if any((answer := answer_of(sample)) is not None and answer.id == answer_id for sample in samples)
    }
    return bool(answer_id) and len(places) == 1


def at_least(n: int, p: float, least: int) -> float:
    """P(Bin(n, p) ≥ least)."""
    terms = (math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(max(least, 0), n + 1))
    return min(1.0, math.fsum(terms))


def _excluded(parameter: str, free: Arm, held: Arm) -> dict[str, int]:
    seen: Counter[Fate] = fates(free, parameter) + fates(held, parameter)
    return {fate.value: count for fate, count in seen.items() if fate is not Fate.ANSWERED}
