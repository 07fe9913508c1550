"""G3: T2 proves another model behind an endpoint, or behind a share of its queries, and alarms falsely in no more than
one epoch in a hundred.

Prompts are the bundled model's own near ties of 800, mined, screened and enrolled by the product; first tokens are the
argmax of the stacks' own log-probabilities with noise of 0.03 nat, and each day another share of the answers, drawn
from Beta(4, 36), has another token than the likeliest. Ten one-token queries an hour, bet on together; the other
streams stand at 1. Beside it is told what comes of betting on every query as a round of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.border_hours import ASKED, WatchedBorder, enrolled
from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.goals.figure import Figure, Lab, share
from benchmarks.detection_lab.hourly import BEFORE, EPOCH_DAYS, HOURS, Proof, Rounds, proof, value_paths
from benchmarks.detection_lab.lawful import Lawful
from benchmarks.detection_lab.union import Union
from benchmarks.simulated.delays import WITHOUT, needed
from monitor.drift.evidence import Tier

Floats = NDArray[np.float64]

PROMPTS, OF_AN_ENDPOINT = 800, 600
NOISE = Lawful(0.03)
SWAP, COUSIN = "anew", "without-4-layers"
# Queries, by the share that goes to another model.
BARS = {1.0: 150.0, 0.5: 300.0, 0.3: 1_100.0}
FALSE_ALARMS = 0.01
DAYS = 12
ENDPOINTS, QUICK_ENDPOINTS = 100, 20
NULL_EPOCHS, QUICK_NULL_EPOCHS = 2_000, 400
OF_ONE_BASELINE = 20
HOURLY, SINGLE = Rounds(ASKED, ASKED), Rounds(ASKED, 1)


def measure(lab: Lab) -> list[Figure]:
    figures = [_delay(lab, SWAP, part, most) for part, most in BARS.items()]
    if not lab.quick:
        figures.append(_delay(lab, COUSIN, 1.0, None))
    for part in BARS:
        median = float(np.median([one.rounds for one in of_share(lab, SWAP, part, SINGLE)]))
        what = f"{part:.0%} of the queries to {SWAP}, every query a round: median queries"
        figures.append(Figure(what, median, form=".0f"))
    return [*figures, *alarms(lab)]


def _delay(lab: Lab, name: str, part: float, most: float | None) -> Figure:
    proofs = of_share(lab, name, part)
    queries = float(np.median([one.rounds for one in proofs])) * ASKED
    what = f"{part:.0%} of the queries to {name}: median queries ({len(proofs)} endpoints)"
    return Figure(what, queries, most=most, form=".0f")


def of_share(lab: Lab, name: str, part: float, rounds: Rounds = HOURLY) -> list[Proof]:
    """From its time in the epoch on, that share of the queries is answered by the changed stack."""
    rng = np.random.default_rng((lab.seed, round(100 * part)))
    union = Union.of([lab.first.get(CHANGES[one], PROMPTS) for one in (UNCHANGED.name, name)])
    needs = needed(Tier.BORDER, WITHOUT)
    found = []
    for _ in range(QUICK_ENDPOINTS if lab.quick else ENDPOINTS):
        some = some_prompts(union, rng)
        watched = begun(some, rng, rounds)
        still = watched.means(some.logprobs, 0.0, BEFORE // HOURS + 1, rng)[: rounds.before]
        changed = watched.means(some.logprobs, part, DAYS, rng)
        found.append(proof(np.concatenate([still, changed]), watched.levels, needs, rounds))
    return found


def some_prompts(union: Union, rng: np.random.Generator) -> Union:
    """Each endpoint has candidates of its own."""
    prompts = len(union.ids)
    return union.of_prompts(np.sort(rng.permutation(prompts)[: min(OF_AN_ENDPOINT, prompts)]))


def begun(union: Union, rng: np.random.Generator, rounds: Rounds) -> WatchedBorder:
    """Baselines that are not accepted are waited for."""
    why = ""
    for _ in range(10):
        found = enrolled(union, NOISE, rng, rounds)
        if isinstance(found, WatchedBorder):
            return found
        why = found.reason
    raise ValueError(f"none of ten enrolments of border inputs is accepted: {why}")


def alarms(lab: Lab) -> Iterator[Figure]:
    rng = np.random.default_rng((lab.seed, 3))
    union = Union.of([lab.first.get(UNCHANGED, PROMPTS)])
    for called, rounds in (("", HOURLY), (", every query a round", SINGLE)):
        highest = null_values(union, QUICK_NULL_EPOCHS if lab.quick else NULL_EPOCHS, rng, rounds)
        what = f"unchanged{called}: epochs of {EPOCH_DAYS} days with"
        yield share(f"{what} drift", highest >= needed(Tier.BORDER, WITHOUT), FALSE_ALARMS)
        yield share(f"{what} a stream at 100", highest >= 1.0 / FALSE_ALARMS, FALSE_ALARMS)


def null_values(union: Union, epochs: int, rng: np.random.Generator, rounds: Rounds) -> Floats:
    """The stream's highest value in each unchanged epoch, of which `OF_ONE_BASELINE` follow one baseline each."""
    found: list[Floats] = []
    for _ in range(-(-epochs // OF_ONE_BASELINE)):
        some = some_prompts(union, rng)
        watched = begun(some, rng, rounds)
        scores = [watched.means(some.logprobs, 0.0, EPOCH_DAYS, rng) for _ in range(OF_ONE_BASELINE)]
        found.append(value_paths(np.stack(scores), watched.levels, rounds).max(axis=1))
    return np.concatenate(found)[:epochs]
