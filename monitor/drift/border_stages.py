"""T2: what an endpoint is asked next for its border inputs, by what it has answered so far (DETECTION.md §2.3).

Each stage counts answers that the one before has not seen: a prompt is a candidate because its first three answers
differ, and that says nothing of how often each token comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from monitor.drift.border import ASKS, CANDIDATES, SCREENING_ASKS, Screened, ignores_temperature, screened
from monitor.drift.border_scores import BorderInputs, enrol_border
from monitor.drift.evidence import Inapplicable, NotYet
from monitor.drift.resplit import IntArray
from probes.border import Ask

# Without a reference that says which prompts are nearly tied: so many find as many of them.
SCREENED_ALONE = 1_500
# Answers at temperature 1 to each of so many prompts, and as many at 0, where more vary than near ties do.
_HOT_PROMPTS, _HOT_ASKS = 20, 10
# One prompt in twenty may never be answered: some are refused.
_MAY_LACK = 0.05
# Answers to a candidate, those without a first token among them.
_MOST_ASKS = ASKS + ASKS // 10


@dataclass(frozen=True, slots=True)
class FirstTokens:
    """By prompt, in the order in which the answers came; None where an answer had none. `hot` is at temperature 1."""

    cold: Mapping[str, Sequence[bytes | None]] = field(default_factory=dict)
    hot: Mapping[str, Sequence[bytes | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Enrolling:
    """`asks` is all that is missing, none where there is a result."""

    said: str
    asks: tuple[Ask, ...] = ()
    found: BorderInputs | Inapplicable | None = None


def enrolling(order: Sequence[str], answers: FirstTokens) -> Enrolling:
    """order: the prompts to screen, those first that are most nearly tied. Raises ValueError for none."""
    if not order:
        raise ValueError("no prompt is there to be screened")
    done = _screened(order, answers.cold)
    if isinstance(done, Enrolling):
        return done
    prompts, found = done
    if found.common and (enough := _takes_temperature(prompts, found, answers)) is not None:
        return enough
    return _balanced([prompts[place] for place in found.varied], answers.cold)


def within(asks: Sequence[Ask], most: int) -> tuple[Ask, ...]:
    """So many requests of these at most, each in turn, those first of which most is missing."""
    ordered = sorted(asks, key=lambda ask: -ask.times)
    times = [0] * len(ordered)
    left = min(most, sum(ask.times for ask in ordered))
    while left > 0:
        for place, ask in enumerate(ordered):
            if left > 0 and times[place] < ask.times:
                times[place] += 1
                left -= 1
    return tuple(ask._replace(times=count) for ask, count in zip(ordered, times, strict=True) if count)


def watching(inputs: BorderInputs, most: int, shuffled: Callable[[Sequence[str]], Sequence[str]]) -> tuple[Ask, ...]:
    """`most` requests of enrolled inputs, as many of each as can be, and of the rest any: with the same ones in every
    second round, its lawful score would be another in every second round."""
    prompts = [one.prompt for one in inputs.inputs]
    whole, rest = divmod(most, len(prompts))
    once_more = {*shuffled(prompts)[:rest]}
    times = ((prompt, whole + (prompt in once_more)) for prompt in prompts)
    return tuple(Ask(prompt, count) for prompt, count in times if count)


def _screened(
    order: Sequence[str], cold: Mapping[str, Sequence[bytes | None]]
) -> Enrolling | tuple[list[str], Screened]:
    asks = [Ask(prompt, SCREENING_ASKS - len(cold.get(prompt, ()))) for prompt in order]
    if (waits := _waiting("screening", asks, SCREENING_ASKS * len(order))) is not None:
        return waits
    prompts = [prompt for prompt in order if len(cold.get(prompt, ())) >= SCREENING_ASKS]
    found = screened(_numbers([cold[prompt][:SCREENING_ASKS] for prompt in prompts]), CANDIDATES)
    if isinstance(found, Inapplicable):
        return Enrolling(found.reason, found=found)
    return prompts, found


def _takes_temperature(prompts: Sequence[str], found: Screened, answers: FirstTokens) -> Enrolling | None:
    """None where it does."""
    chosen = [prompts[place] for place in found.varied[:_HOT_PROMPTS]]
    after = SCREENING_ASKS + _HOT_ASKS
    hot = [Ask(prompt, _HOT_ASKS - len(answers.hot.get(prompt, ())), hot=True) for prompt in chosen]
    cold = [Ask(prompt, after - len(answers.cold[prompt])) for prompt in chosen]
    waits = _waiting("whether temperature 0 is taken", [*hot, *cold], 2 * _HOT_ASKS * len(chosen))
    if waits is not None:
        return waits
    sides = [
        [answers.cold[prompt][SCREENING_ASKS:after] for prompt in chosen],
        [answers.hot.get(prompt, ())[:_HOT_ASKS] for prompt in chosen],
    ]
    numbers = {token: place for place, token in enumerate(sorted({one for side in sides for one in _came(side)}))}
    at_zero, at_one = ([_counted(one, numbers) for one in side] for side in sides)
    ignored = ignores_temperature(found, np.array(at_zero), np.array(at_one))
    return None if ignored is None else Enrolling(ignored.reason, found=ignored)


def _balanced(candidates: Sequence[str], cold: Mapping[str, Sequence[bytes | None]]) -> Enrolling:
    counts = {prompt: Counter(one for one in cold[prompt][SCREENING_ASKS:] if one is not None) for prompt in candidates}
    asks = [
        Ask(prompt, min(ASKS - of.total(), SCREENING_ASKS + _MOST_ASKS - len(cold[prompt])))
        for prompt, of in counts.items()
    ]
    if (waits := _waiting("balance", asks, ASKS * len(asks))) is not None:
        return waits
    found = enrol_border({prompt: dict(of) for prompt, of in counts.items() if of.total() >= ASKS})
    if isinstance(found, NotYet):
        found = Inapplicable(f"border inputs: no candidate of {len(candidates)} has {ASKS} answers with a first token")
    said = found.reason if isinstance(found, Inapplicable) else f"{len(found.inputs)} border inputs"
    return Enrolling(said, found=found)


def _waiting(what: str, asks: Sequence[Ask], of: int) -> Enrolling | None:
    """None where nearly all prompts have their answers."""
    missing = tuple(ask for ask in asks if ask.times > 0)
    if len(missing) <= _MAY_LACK * len(asks):
        return None
    came = of - sum(ask.times for ask in missing)
    return Enrolling(f"finding border inputs, {what}: {came} of {of} answers", missing)


def _numbers(firsts: Sequence[Sequence[bytes | None]]) -> IntArray:
    numbers = {token: place for place, token in enumerate(sorted({*_came(firsts)}))}
    return np.array([[-1 if one is None else numbers[one] for one in row] for row in firsts], dtype=np.int64)


def _came(firsts: Sequence[Sequence[bytes | None]]) -> list[bytes]:
    return [one for row in firsts for one in row if one is not None]


def _counted(firsts: Sequence[bytes | None], numbers: Mapping[bytes, int]) -> list[int]:
    counts = [0] * len(numbers)
    for one in firsts:
        if one is not None:
            counts[numbers[one]] += 1
    return counts
