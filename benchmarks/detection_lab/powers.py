"""What tests on longer answers see of changes, beside the figures of the pilot study (its Table E)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.rivals import met, nll, rut
from benchmarks.detection_lab.texts import Asked, Texts, TextStore

Floats = NDArray[np.float64]

LEVELS = (0.05, 0.01)
PERMUTATIONS = 399


@dataclass(frozen=True, slots=True)
class Pools:
    """Drawn answers to the same prompts: of the reference, and of an endpoint."""

    reference: Texts
    endpoint: Texts

    def resampled(self, answers: int, rng: np.random.Generator) -> Pools:
        """So many answers to each prompt of each side, without replacement."""
        return Pools(_some(self.reference, answers, rng), _some(self.endpoint, answers, rng))


def _some(pool: Texts, answers: int, rng: np.random.Generator) -> Texts:
    which = rng.random(pool.ids.shape[:2]).argsort(axis=1)[:, :answers, None]
    return pool.each(lambda array: np.take_along_axis(array, which, axis=1))


def met_p(pools: Pools, rng: np.random.Generator) -> float:
    return met.p_value(pools.reference.ids, pools.endpoint.ids, PERMUTATIONS, rng)


def nll_p(pools: Pools) -> float:
    return nll.p_value(nll.mean_nll(pools.reference.logprobs), nll.mean_nll(pools.endpoint.logprobs))


def rut_p(pools: Pools, rng: np.random.Generator) -> float:
    """Every answer is ranked among its prompt's reference answers. Several answers to a prompt share these, and the
    test rejects too often: the more so, the fewer they are."""
    reference, endpoint = (rut.log_rank(side.ranks) for side in (pools.reference, pools.endpoint))
    among = np.repeat(reference, endpoint.shape[1], axis=0)
    return rut.p_value(rut.randomised_ranks(endpoint.ravel(), among, rng))


TESTS = ("MET", "RUT", "NLL")


@dataclass(frozen=True, slots=True)
class Power:
    """The share of tests that reject at each level."""

    at_05: float
    at_01: float


def powers(pools: Pools, answers: int, repeats: int, seed: int) -> dict[str, Power]:
    """Of each test, on the same resampled answers; RUT ranks them among all of the reference's, as it has no use for
    as many."""
    drawn = np.array(list(_p_values(pools, answers, repeats, np.random.default_rng(seed))))
    return {name: power(column) for name, column in zip(TESTS, drawn.T, strict=True)}


def _p_values(pools: Pools, answers: int, repeats: int, rng: np.random.Generator) -> Iterator[list[float]]:
    for _ in range(repeats):
        some = pools.resampled(answers, rng)
        yield [met_p(some, rng), rut_p(Pools(pools.reference, some.endpoint), rng), nll_p(some)]


def single_rut_power(pools: Pools, repeats: int, seed: int) -> Power:
    """RUT as its authors have it: one answer to a prompt, ranked among all of the reference's."""
    rng = np.random.default_rng(seed)
    found = [rut_p(Pools(pools.reference, _some(pools.endpoint, 1, rng)), rng) for _ in range(repeats)]
    return power(np.array(found))


def power(p_values: Floats) -> Power:
    return Power(*(float((p_values <= level).mean()) for level in LEVELS))


# By rival and change, none being the false alarms: power at .05 and at .01 with 10 prompts, 10 answers to each of 30
# tokens. Each was measured on one pair of pools, which moves a power by a tenth.
TABLE_E: Mapping[str, Mapping[str, Power]] = {
    "fp32": {"MET": Power(0.053, 0.017), "RUT": Power(0.076, 0.032), "NLL": Power(0.056, 0.015)},
    "w8-channel": {"MET": Power(0.03, 0.007), "RUT": Power(0.10, 0.012), "NLL": Power(0.08, 0.022)},
    "fp8-e4m3": {"MET": Power(0.03, 0.003), "RUT": Power(0.41, 0.16), "NLL": Power(0.24, 0.08)},
    "nf4": {"MET": Power(0.69, 0.45), "RUT": Power(0.48, 0.22), "NLL": Power(0.41, 0.19)},
    "temperature-0.9": {"MET": Power(0.18, 0.07), "RUT": Power(1.0, 1.0), "NLL": Power(1.0, 1.0)},
}
POOL_ERROR = 0.1


def away(ours: float, theirs: float) -> float:
    """Two powers, each of its own pools, in standard errors of their difference."""
    return (ours - theirs) / (POOL_ERROR * float(np.sqrt(2.0)))


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of Table E's pools, and how many tests are resampled from them."""

    reference: int = 60
    endpoint: int = 40
    repeats: int = 300


def table_e(store: TextStore, sizes: Sizes, seed: int = 0) -> dict[str, dict[str, Power]]:
    """By change and test; 10 prompts, 10 answers a side, 30 tokens."""
    reference = store.get(UNCHANGED, Asked(answers=sizes.reference))
    found = {}
    for name in TABLE_E:
        # Another pool than the reference's, also of the unchanged stack.
        endpoint = store.get(CHANGES[name], Asked(answers=sizes.endpoint), pool=1)
        found[name] = powers(Pools(reference, endpoint), 10, sizes.repeats, seed)
    return found
