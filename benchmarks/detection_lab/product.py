"""What the product's own tests of whole answers see of changes (monitor/drift/whole_answers.py), beside the rivals.

Answers are compared in the tokens that the lab's stacks drew, on both sides, and not cut anew: none of the changes in
the lab touches a text's whitespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.detection_lab import powers
from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.powers import TABLE_E, Pools, Power, Sizes
from benchmarks.detection_lab.texts import Asked, Texts, TextStore
from monitor.drift.answers import Answers, Sides
from monitor.drift.rank_uniformity import uniformity
from monitor.drift.repeated_answers import compare
from monitor.drift.sequential import calibrated_mean

TESTS = ("distance", "ranks", "likelihood")
# Of a round's value, which fewer deals would keep small.
DRAWS = 4_999
# One value takes as long as so many tests.
VALUES_IN_REPEATS = 10


def sides(pools: Pools) -> Sides:
    return Sides(answers_of(pools.endpoint), answers_of(pools.reference))


def answers_of(texts: Texts) -> Answers:
    prompts, answers, tokens = texts.ids.shape
    ids, ranks = (each.reshape(-1, tokens).astype(np.int64) for each in (texts.ids, texts.ranks))
    return Answers(np.repeat(np.arange(prompts), answers), ids, texts.logprobs.reshape(-1, tokens), ranks, ids)


def product_powers(pools: Pools, answers: int, repeats: int, seed: int) -> dict[str, Power]:
    """Of each test on resampled answers. Ranks are those of one answer to a prompt among all of the reference's."""
    rng = np.random.default_rng(seed)
    return _powers(lambda: pools, answers, repeats, rng)


def product_levels(pools: Pools, answers: int, repeats: int, seed: int) -> dict[str, Power]:
    """The same of two pools of the unchanged stack, whose answers are dealt to the sides anew for each test: what comes
    of one pair of pools is only how this pair happened to differ."""
    rng = np.random.default_rng(seed)
    every, of_reference = pools.reference.joined(pools.endpoint), pools.reference.ids.shape[1]

    def dealt() -> Pools:
        order = rng.random(every.ids.shape[:2]).argsort(axis=1)[:, :, np.newaxis]
        shuffled = every.each(lambda array: np.take_along_axis(array, order, axis=1))
        return Pools(shuffled.first(of_reference), shuffled.each(lambda array: array[:, of_reference:]))

    return _powers(dealt, answers, repeats, rng)


def _powers(pools: Callable[[], Pools], answers: int, repeats: int, rng: np.random.Generator) -> dict[str, Power]:
    drawn = np.array([p_values(pools(), answers, powers.PERMUTATIONS, rng) for _ in range(repeats)])
    found = {name: powers.power(column) for name, column in zip(TESTS, drawn.T, strict=True)}
    values = [round_value(p_values(pools(), answers, DRAWS, rng)) for _ in range(max(1, repeats // VALUES_IN_REPEATS))]
    # By Markov's inequality E ≥ 1/α at a level of α.
    return found | {"all three, by E": powers.power(1.0 / np.array(values))}


def p_values(pools: Pools, answers: int, draws: int, rng: np.random.Generator) -> list[float]:
    some = pools.resampled(answers, rng)
    told = compare(sides(some), rng, draws)
    ranked = uniformity(sides(Pools(pools.reference, some.endpoint)), rng, draws)
    return [told.distance.p, ranked.p, told.moved.p]


def round_value(p: list[float]) -> float:
    """As `of_whole_answers` gives it for one round."""
    return float(np.mean([calibrated_mean(each) for each in p]))


def rows_ours(store: TextStore, sizes: Sizes, seed: int = 0) -> Iterator[str]:
    """Power at .05 and .01, in brackets Table E's of the test that asks the same. Its ranks are of ten answers to a
    prompt, ours of one."""
    yield "| ours | distance (MET) | likelihood (NLL) | ranks of one answer | E ≥ 20 / 100 of all three |"
    yield "| --- |" + " --- |" * 4
    reference = store.get(UNCHANGED, Asked(answers=sizes.reference))
    for name, theirs in TABLE_E.items():
        endpoint = store.get(CHANGES[name], Asked(answers=sizes.endpoint), pool=1)
        of = product_levels if name == UNCHANGED.name else product_powers
        ours = of(Pools(reference, endpoint), 10, sizes.repeats, seed)
        cells = [beside(ours["distance"], theirs["MET"]), beside(ours["likelihood"], theirs["NLL"])]
        cells += [alone(ours["ranks"]), alone(ours["all three, by E"])]
        yield "| " + " | ".join([name, *cells]) + " |"


def beside(ours: Power, theirs: Power) -> str:
    apart = powers.away(ours.at_05, theirs.at_05)
    return f"{alone(ours)} ({theirs.at_05:g} / {theirs.at_01:g}), {apart:+.1f} s.e. apart"


def alone(power: Power) -> str:
    return f"{power.at_05:.3f} / {power.at_01:.3f}"
