"""An endpoint of the lab as T2 sees it hour by hour: first tokens at temperature 0 of prompts that the reference finds
nearly tied; screened, enrolled and scored by the product's functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.hourly import BASELINE_DAYS, HOURS, Rounds
from benchmarks.detection_lab.lawful import Lawful, greedy_tokens
from benchmarks.detection_lab.union import Union
from benchmarks.simulated.rounds import DAY_NOISE
from monitor.drift.border import ASKS, SCREENING_ASKS, Screened, ignores_temperature, screened, tightest
from monitor.drift.border_scores import BorderInput, BorderInputs, enrol_border
from monitor.drift.evidence import Inapplicable, NotYet
from monitor.drift.levels import Levels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ASKED = 10
# So many draws at temperature 1 of each prompt, where many vary at 0.
_DRAWN = 10


def answered(rows: Floats, rates: Floats, lawful: Lawful, rng: np.random.Generator) -> Ints:
    """First tokens at temperature 0, as places in rows of log-probabilities [queries, tokens]; rates [queries] are the
    chances that another token than the likeliest comes, by its own chance: as on a day of other load or hardware."""
    first = greedy_tokens(rows, 1, lawful, rng)[:, 0]
    odd = np.flatnonzero(rng.random(len(rows)) < rates)
    others = rows[odd]
    np.put_along_axis(others, first[odd, None], -np.inf, axis=1)
    first[odd] = drawn(others, rng)
    return first


def drawn(rows: Floats, rng: np.random.Generator) -> Ints:
    """The same at temperature 1."""
    return np.asarray((rows + rng.gumbel(size=rows.shape)).argmax(axis=-1))


def day_rates(days: int, rng: np.random.Generator) -> Floats:
    return rng.beta(*DAY_NOISE, days)


def no_rates(days: int, rng: np.random.Generator) -> Floats:  # noqa: ARG001
    return np.zeros(days)


@dataclass(frozen=True, slots=True, eq=False)
class WatchedBorder:
    """`scores` of every token of the union for the enrolled prompts, [inputs, tokens], and which prompts these are."""

    inputs: Ints
    scores: Floats
    lawful: Lawful
    rounds: Rounds
    levels: Levels

    def means(self, stacks: Floats, share: float, days: int, rng: np.random.Generator) -> Floats:
        """Scores of the rounds of so many days, of which a share of the queries goes to the second stack [stacks,
        prompts, tokens], or to the first where there is no second."""
        inputs, tokens = asked(stacks[:, self.inputs], share, days, self.lawful, rng)
        return self.rounds.of(self.scores[inputs, tokens])


def asked(stacks: Floats, share: float, days: int, lawful: Lawful, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """`ASKED` inputs once each every hour: their places in the stacks [stacks, inputs, tokens], and the first tokens of
    the answers, [rounds, inputs asked]."""
    rounds = days * HOURS
    inputs = rng.random((rounds, stacks.shape[1])).argsort(axis=1)[:, :ASKED]
    which = (rng.random(inputs.shape) < share).astype(np.int64) * (len(stacks) - 1)
    rates = np.repeat(day_rates(days, rng), HOURS * inputs.shape[1])
    tokens = answered(stacks[which.ravel(), inputs.ravel()], rates, lawful, rng)
    return inputs, tokens.reshape(inputs.shape)


def enrolled(
    union: Union, lawful: Lawful, rng: np.random.Generator, rounds: Rounds
) -> WatchedBorder | NotYet | Inapplicable:
    """The whole way with the union's first stack: the reference, which is the same without noise, proposes; three
    answers screen, a hundred choose, fourteen days give levels."""
    kept = enrolled_inputs(union, lawful, rng)
    if not isinstance(kept, BorderInputs):
        return kept
    inputs = np.array([int(one.prompt) for one in kept.inputs], dtype=np.int64)
    scores = np.array([_scores(union, one) for one in kept.inputs])
    without = WatchedBorder(inputs, scores, lawful, rounds, Levels(1.0, 1.0, 0.0, 0))
    levels = rounds.levels(without.means(union.logprobs[:1], 0.0, BASELINE_DAYS, rng))
    return NotYet("its baseline gives no levels") if levels is None else replace(without, levels=levels)


def _scores(union: Union, one: BorderInput) -> list[float]:
    return [one.score(union.name(int(one.prompt), place)) for place in range(union.ids.shape[1])]


def enrolled_inputs(
    union: Union,
    lawful: Lawful,
    rng: np.random.Generator,
    rates_of: Callable[[int, np.random.Generator], Floats] = day_rates,
) -> BorderInputs | NotYet | Inapplicable:
    logprobs = union.logprobs[0]
    highest = -np.sort(-logprobs, axis=1)[:, :2]
    proposed = tightest(highest[:, 0] - highest[:, 1])
    at_zero = _each(logprobs[proposed], np.repeat(rates_of(1, rng), SCREENING_ASKS), lawful, rng)
    found = screened(at_zero)
    if isinstance(found, Inapplicable):
        return found
    if (why := _ignoring(found, logprobs[proposed], at_zero, rng)) is not None:
        return why
    candidates = proposed[found.varied]
    # The hundred are asked over as many days as the baseline has.
    rates = np.repeat(rates_of(BASELINE_DAYS, rng), -(-ASKS // BASELINE_DAYS))[:ASKS]
    answers = _each(logprobs[candidates], rates, lawful, rng)
    return enrol_border(
        {str(prompt): _counts(union, prompt, row) for prompt, row in zip(candidates.tolist(), answers, strict=True)}
    )


def _each(rows: Floats, rates: Floats, lawful: Lawful, rng: np.random.Generator) -> Ints:
    """As many answers to each of [prompts, tokens] as there are rates, [prompts, asks]."""
    every = answered(np.repeat(rows, len(rates), axis=0), np.tile(rates, len(rows)), lawful, rng)
    return every.reshape(len(rows), len(rates))


def _ignoring(found: Screened, rows: Floats, at_zero: Ints, rng: np.random.Generator) -> Inapplicable | None:
    if not found.common:
        return None
    at_one = drawn(np.repeat(rows, _DRAWN, axis=0), rng).reshape(len(rows), _DRAWN)
    zero, one = (np.stack([np.bincount(row, minlength=rows.shape[1]) for row in side]) for side in (at_zero, at_one))
    return ignores_temperature(found, zero, one)


def _counts(union: Union, prompt: int, tokens: Ints) -> Mapping[bytes, int]:
    places, counts = np.unique(tokens, return_counts=True)
    return {union.name(prompt, place): int(count) for place, count in zip(places, counts, strict=True)}
