"""G1: T1 proves changed weights, another template and another model within a day of hourly rounds, and alarms falsely
in no more than one epoch in a hundred.

What is listed are the stacks' own first tokens; noise is laid on them: normal, half of its variance common to a
response, a sixth more or less each day, and each day's own shift of every token, a third of the noise. Eight prompts an
hour, scored by their whitened lengths and bet on together. The endpoint's other streams stand at 1, those of T1's other
scores among them. Beside it are told what comes of betting on every query as a round of its own, and of scores by the
mean |Δ|.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.goals.figure import Figure, Lab, share
from benchmarks.detection_lab.hourly import EPOCH_DAYS, PROMPTS, Proof, Rounds, Watched, by_length, proof, value_paths
from benchmarks.detection_lab.lawful import Lawful
from benchmarks.detection_lab.union import Union
from benchmarks.simulated.delays import WITH, needed
from monitor.drift.evidence import Tier
from monitor.drift.offers import STREAMS

Floats = NDArray[np.float64]

BARS = {0.03: 24.0, 0.06: 48.0}
CHANGED = ("w8-channel", "fp8-e4m3", "nf4", "w4-g64", "template", "anew", "without-4-layers")
FALSE_ALARMS = 0.01
# Days that are looked at from the change's on.
DAYS = 10
ENDPOINTS, QUICK_ENDPOINTS = 40, 8
NULL_EPOCHS, QUICK_NULL_EPOCHS = 2_000, 240
# Epochs with one baseline, and sets of prompts that endpoints take in turn.
OF_ONE_BASELINE, SETS, QUICK_SETS = 20, 20, 4
LENGTHS, SINGLE, MEANS = Rounds(scored=by_length), Rounds(together=1, scored=by_length), Rounds()


def with_days(noise: float) -> Lawful:
    return Lawful(noise, day=noise / 3.0, uneven=0.15)


@dataclass(frozen=True, slots=True)
class Sizes:
    endpoints: int
    null_epochs: int
    sets: int


def sizes(lab: Lab) -> Sizes:
    if lab.quick:
        return Sizes(QUICK_ENDPOINTS, QUICK_NULL_EPOCHS, QUICK_SETS)
    return Sizes(ENDPOINTS, NULL_EPOCHS, SETS)


def measure(lab: Lab) -> list[Figure]:
    return [figure for noise in BARS for figure in of_noise(lab, noise)]


def of_noise(lab: Lab, noise: float) -> Iterator[Figure]:
    size = sizes(lab)
    for rounds, lawful, told in (
        (LENGTHS, with_days(noise), ""),
        (SINGLE, with_days(noise), ", every query a round"),
        (MEANS, with_days(noise), ", mean |Δ|"),
        (MEANS, Lawful(noise), ", mean |Δ|, days alike"),
    ):
        most = BARS[noise] if rounds is LENGTHS else None
        unit = "queries" if rounds is SINGLE else f"rounds of {PROMPTS} queries"
        for name, proofs in delays(lab, CHANGED, lawful, size.endpoints, rounds).items():
            what = f"{name} at {noise:g} nat{told}: median {unit} ({len(proofs)} endpoints)"
            yield Figure(what, median(proofs), most=most, form=".1f")
    yield from alarms(lab, noise, size)


def median(proofs: Sequence[Proof]) -> float:
    return float(np.median([one.rounds for one in proofs]))


def delays(
    lab: Lab, names: Sequence[str], lawful: Lawful, endpoints: int, rounds: Rounds = LENGTHS
) -> Mapping[str, list[Proof]]:
    """By change, of as many endpoints, each enrolled once and then changed in every way."""
    rng = np.random.default_rng((lab.seed, round(lawful.response * 1e3)))
    sets = unions(lab, names)
    needs = needed(Tier.LOGPROBS, WITH, len(STREAMS[Tier.LOGPROBS]))
    found: dict[str, list[Proof]] = {name: [] for name in names}
    for endpoint in range(endpoints):
        union = sets[endpoint % len(sets)]
        watched = enrolled(union, lawful, rng, rounds)
        for name, logprobs in zip(names, union.logprobs[1:], strict=True):
            scores = watched.changing(union.logprobs[0], logprobs, DAYS, rng)
            found[name].append(proof(scores, watched.levels, needs, rounds))
    return found


def enrolled(union: Union, lawful: Lawful, rng: np.random.Generator, rounds: Rounds = LENGTHS) -> Watched:
    """A baseline that is not accepted is waited for."""
    for _ in range(10):
        if (watched := Watched.begun(union, lawful, rng, rounds)) is not None:
            return watched
    raise ValueError(f"none of ten baselines with noise {lawful} is accepted")


def unions(lab: Lab, names: Sequence[str]) -> list[Union]:
    """Of the unchanged stack and these, for each set of prompts."""
    prompts = PROMPTS * sizes(lab).sets
    stacks = [lab.first.get(CHANGES[name], prompts) for name in (UNCHANGED.name, *names)]
    every = Union.of(stacks)
    return [every.of_prompts(slice(start, start + PROMPTS)) for start in range(0, prompts, PROMPTS)]


def alarms(lab: Lab, noise: float, size: Sizes) -> Iterator[Figure]:
    rng = np.random.default_rng((lab.seed, 1, round(noise * 1e3)))
    needs = needed(Tier.LOGPROBS, WITH, len(STREAMS[Tier.LOGPROBS]))
    for called, rounds in (("", LENGTHS), (", every query a round", SINGLE), (", mean |Δ|", MEANS)):
        highest = null_values(unions(lab, ()), with_days(noise), size.null_epochs, rng, rounds)
        what = f"unchanged at {noise:g} nat{called}: epochs of {EPOCH_DAYS} days with"
        yield share(f"{what} drift", highest >= needs, FALSE_ALARMS)
        yield share(f"{what} a stream at 100", highest >= 1.0 / FALSE_ALARMS, FALSE_ALARMS)


def null_values(
    sets: Sequence[Union], lawful: Lawful, epochs: int, rng: np.random.Generator, rounds: Rounds = LENGTHS
) -> Floats:
    """The stream's highest value in each unchanged epoch, of which `OF_ONE_BASELINE` follow one baseline each."""
    found: list[Floats] = []
    for number in range(-(-epochs // OF_ONE_BASELINE)):
        union = sets[number % len(sets)]
        watched = enrolled(union, lawful, rng, rounds)
        scores = [watched.scores(union.logprobs[0], EPOCH_DAYS, rng) for _ in range(OF_ONE_BASELINE)]
        found.append(value_paths(np.stack(scores), watched.levels, rounds).max(axis=1))
    return np.concatenate(found)[:epochs]
