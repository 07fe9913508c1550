"""The serving stacks behind one endpoint side by side: which answers are whose, and does one of them fail more?

A balancer may send like prompts to like stacks, and so the hard ones to one of them: stacks are compared within each
case only, over the answers that both gave to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from monitor.drift.failures import more_failures
from monitor.drift.rule import holm
from monitor.drift.trigger import Paired

# A stack that names each answer otherwise is no fleet.
MOST_VARIANTS = 8

T = TypeVar("T")


def by_variant(answers: Iterable[T], variant_of: Callable[[T], str | None]) -> dict[str, list[T]]:
    """The answers of each variant, the one with the most first; those of which it is not known are in none. Empty where
    there are not several."""
    found: defaultdict[str, list[T]] = defaultdict(list)
    for answer in answers:
        if (variant := variant_of(answer)) is not None:
            found[variant].append(answer)
    ordered = sorted(found, key=lambda variant: (-len(found[variant]), variant))
    return {variant: found[variant] for variant in ordered} if len(found) > 1 else {}


def failing_more(
    groups: Mapping[str, Sequence[T]], failures: Callable[[Sequence[T], Sequence[T]], Sequence[Paired]]
) -> dict[str, float]:
    """For each of the largest groups how probable it is that so many more of its answers fail than of all others, by
    chance: exact within each case, the least of its questions, adjusted by Holm for all that were asked of any. A group
    that shares no case with others is not there.

    `failures` counts those of some answers against those of others, once for each question.
    """
    p_values: dict[tuple[str, int], float] = {}
    for variant in list(groups)[:MOST_VARIANTS]:
        rest = [answer for other, answers in groups.items() if other != variant for answer in answers]
        for place, sides in enumerate(failures(groups[variant], rest)):
            if len(sides):
                p_values[variant, place] = more_failures(sides)
    adjusted = holm({f"{variant} {place}": p for (variant, place), p in p_values.items()})
    found: dict[str, float] = {}
    for variant, place in p_values:
        found[variant] = min(found.get(variant, 1.0), adjusted[f"{variant} {place}"])
    return found
