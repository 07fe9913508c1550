"""Another endpoint as the reference: how often honest stacks are suspected, other weights seen, and a reference that
moved taken for the endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated.figure import Figure, share
from monitor.drift.assess import assess
from monitor.drift.cause import ENDPOINT
from monitor.drift.endpoint_reference import LAWFUL, TARGET, beside, endpoint_fidelity, moved, own_answers
from monitor.drift.material import Material, Reference
from monitor.drift.observation import FloatArray, Observation
from monitor.drift.rule import Verdict

ALPHA = 0.01
INT8 = 0.071
NAME = "vendor/big"
NOISES = ((0.03, 0.03), (0.01, 0.06), (0.06, 0.01))
_VOCABULARY, _LISTED = 40, 20
_TOKENS = tuple(b"%d" % number for number in range(_VOCABULARY))
# The mean |Δ| of a normal Δ is its deviation times √(2/π).
_NORMAL = float(np.sqrt(np.pi / 2.0))


@dataclass(frozen=True)
class Sides:
    """Made-up answers of two stacks to the same prompts: fifteen anchors twice and ten single-use prompts, or as many
    as are named. `noise`: of the endpoint's and of the reference's log-probabilities, nats; `uneven`: the deviation of
    the log of each prompt's distance."""

    noise: tuple[float, float] = (0.03, 0.03)
    anchors: int = 15
    singles: int = 10
    uneven: float = 0.0

    def run(
        self, rng: np.random.Generator, *, here: float = 0.0, there: float = 0.0, model: int = 0
    ) -> list[Observation]:
        """`here` and `there`: mean |Δ| of the endpoint and of the reference from the same `model`, nats. A prompt's
        tokens move in a direction of its own, an anchor's in the same in every run."""
        sides: tuple[list[Observation], list[Observation]] = ([], [])
        fresh = rng.integers(1 << 40, size=self.singles).tolist()
        prompts = [(f"anchor-{n}", n, 2) for n in range(self.anchors)] + [(f"single-{n}", n, 1) for n in fresh]
        for key, number, reps in prompts:
            stacks = self._stacks(np.random.default_rng((model, number)), here, there)
            for rep in range(reps):
                for side, stack, noise in zip(sides, stacks, self.noise, strict=True):
                    side.append(answer(key, rep, stack + rng.normal(0.0, noise, _VOCABULARY)))
        return beside(*sides)

    def _stacks(self, rng: np.random.Generator, *away: float) -> list[FloatArray]:
        base = np.sort(rng.normal(-5.0, 1.5, _VOCABULARY))[::-1]
        size = float(np.exp(rng.normal(0.0, self.uneven) - self.uneven**2 / 2.0)) * _NORMAL
        return [base + rng.normal(0.0, 1.0, _VOCABULARY) * far * size for far in away]


def answer(key: str, rep: int, values: FloatArray, *, counted: int | None = None) -> Observation:
    """It lists the likeliest 20 of `values`, one log-probability a token, nats."""
    order = np.argsort(-values)[:_LISTED]
    tokens = tuple(_TOKENS[place] for place in order)
    return Observation(key, rep, key.startswith("anchor"), tokens, values[order], None, (), {}, counted, None, None)


def verdicts(sides: Sides, apart: float, times: int, *, seed: int = 0) -> list[Verdict]:
    """Of the fidelity of as many endpoints, `apart` from their reference."""
    rng = np.random.default_rng(seed)
    runs = (sides.run(rng, here=apart, model=model) for model in range(times))
    return [endpoint_fidelity(run, NAME, None).finding.verdict for run in runs]


def references_moved(there: float, times: int, *, count: int = 2_000, seed: int = 0) -> list[bool]:
    """Whether a reference is said to have moved after three accepted runs; it did by so many nats."""
    rng, sides = np.random.default_rng(seed), Sides()
    found = []
    for model in range(times):
        past = [one for _ in range(3) for one in own_answers(sides.run(rng, model=model))]
        found.append(moved(past, own_answers(sides.run(rng, there=there, model=model)), count=count) is not None)
    return found


def blamed(there: float, times: int, *, seed: int = 0) -> tuple[list[bool], list[bool]]:
    """Whether an endpoint that stays is called drift or suspect for a reference that moves: where its moves are held,
    and where they are not."""
    rng, sides = np.random.default_rng(seed), Sides()
    held: list[bool] = []
    plain: list[bool] = []
    for model in range(times):
        past, now = sides.run(rng, model=model), sides.run(rng, there=there, model=model)
        said = moved(own_answers(past), own_answers(now), count=20_000)
        for found, words in ((held, said), (plain, None)):
            reference = Reference((ENDPOINT,), (ENDPOINT,), {}, endpoint=NAME, held=words)
            judged = assess(Material(now, past, past, reference), no_baseline_reason="")
            found.append(judged.logprobs.verdict in (Verdict.DRIFT, Verdict.SUSPECT))
    return held, plain


def figures(times: int, *, seed: int = 0) -> Iterator[Figure]:
    for noise in NOISES:
        what = f"two honest stacks {LAWFUL} nat apart are suspect, at noise of {noise[0]} and {noise[1]} nat"
        yield share(
            what, [one is Verdict.SUSPECT for one in verdicts(Sides(noise), LAWFUL, times, seed=seed)], ALPHA, "1 %"
        )
    uneven = verdicts(Sides(uneven=0.5), LAWFUL, times, seed=seed)
    yield share("the same, prompts of uneven distances", [one is Verdict.SUSPECT for one in uneven], ALPHA, "1 %")
    for apart, verdict in ((0.0, Verdict.OK), (LAWFUL, Verdict.OK), (INT8, Verdict.SUSPECT), (TARGET, Verdict.SUSPECT)):
        found = [one is verdict for one in verdicts(Sides(), apart, times, seed=seed + 1)]
        yield Figure(f"stacks {apart} nat apart are {verdict.value} ({times})", float(np.mean(found)), "")
    yield share("a reference that stays is said to have moved", references_moved(0.0, times, seed=seed), ALPHA, "1 %")
    for there in (INT8, TARGET):
        found = references_moved(there, max(20, times // 10), seed=seed)
        yield Figure(f"a reference that moves by {there} nat is said to ({len(found)})", float(np.mean(found)), "")
    held, plain = blamed(TARGET, max(20, times // 20), seed=seed)
    yield share("its endpoint, which stays, is blamed for it", held, ALPHA, "1 %")
    yield Figure(f"the same, were it not held ({len(plain)})", float(np.mean(plain)), "")
