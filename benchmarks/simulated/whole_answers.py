"""Whole answers of a made-up model: how often each test alarms while nothing changed, and what it sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks.simulated.figure import Figure, share
from benchmarks.simulated.texts import Change, model, noisy, same, sides, tempered
from monitor.drift.observation import FloatArray
from monitor.drift.rank_uniformity import uniformity
from monitor.drift.repeated_answers import compare
from monitor.drift.sequential import calibrated_mean

TESTS = ("ranks", "distance", "likelihood")
LEVELS = (0.05, 0.01)
# Single answers: prompts, answers of the endpoint and of the reference; and repeated ones.
ONCE, REPEATED = (100, 1, 100), (25, 10, 10)
FEW_ONCE, FEW_REPEATED = (20, 1, 10), (10, 4, 4)
DEALS = 1_999
CHANGES: Mapping[str, Change] = {
    "temperature 0.9": tempered(0.9),
    "noise of 0.3 nat on every log-chance": noisy(0.3),
    "noise of 0.7 nat": noisy(0.7),
    "noise of 1.0 nat": noisy(1.0),
}


def figures(null_rounds: int, rounds: int, *, seed: int = 0) -> Iterator[Figure]:
    null = p_values(same, null_rounds, FEW_ONCE, FEW_REPEATED, seed=seed)
    for test, p in zip(TESTS, null.T, strict=True):
        for level in LEVELS:
            yield share(f"{test}: unchanged rounds with p ≤ {level:g}", p <= level, level, "α")
    values = np.array([round_value(p) for p in null])
    yield share("all three: unchanged rounds with E ≥ 20", values >= 20.0, 0.05, "α")
    yield Figure("all three: mean of E, unchanged", float(values.mean()), "", float(_mean_of_e(values)), "≤ 1")
    for name, change in CHANGES.items():
        found = p_values(change, rounds, ONCE, REPEATED, seed=seed + 1)
        yield Figure(f"{name}: KL", divergence(change), "nat a token")
        for test, p in zip(TESTS, found.T, strict=True):
            yield Figure(f"{name}: rounds in which {test} has p ≤ .05 ({rounds})", float((p <= 0.05).mean()), "")
        yield Figure(f"{name}: median E of one round", float(np.median([round_value(p) for p in found])), "")


def p_values(
    change: Change, rounds: int, once: tuple[int, int, int], repeated: tuple[int, int, int], *, seed: int
) -> FloatArray:
    """[rounds, tests]; every round is of other prompts."""
    found = []
    for number in range(rounds):
        rng = np.random.default_rng([seed, number])
        single, several = (
            sides(*asked, seed=int(rng.integers(2**31)), change=change, of=model(asked[0], int(rng.integers(2**31))))
            for asked in (once, repeated)
        )
        told = compare(several, rng, DEALS)
        found.append([uniformity(single, rng, DEALS).p, told.distance.p, told.moved.p])
    return np.array(found)


def round_value(p: FloatArray) -> float:
    """As `of_whole_answers` gives it for one round."""
    return float(np.mean([calibrated_mean(float(each)) for each in p]))


def _mean_of_e(values: FloatArray) -> float:
    return 1.0 + 2.0 * float(values.std() / np.sqrt(values.size))


def divergence(change: Change) -> float:
    """KL of the changed model to the reference, the mean over what may stand before."""
    reference = model(REPEATED[0], seed=7)
    changed = reference.changed(change)
    return float((np.exp(changed.logprobs) * (changed.logprobs - reference.logprobs)).sum(axis=-1).mean())
