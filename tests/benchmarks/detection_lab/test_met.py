"""MET against a plain computation, against its authors' package where that is installed, and its null."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest

from benchmarks.detection_lab.rivals import met

Ids = NDArray[np.int32]


def drawn(rng: np.random.Generator, prompts: int, answers: int, tokens: int = 6, words: int = 4) -> Ids:
    return rng.integers(0, words, (prompts, answers, tokens)).astype(np.int32)


def plain_mmd(first: Ids, second: Ids) -> float:
    """As the paper writes it, answer by answer; within and across means over all pairs of answers to one prompt."""

    def mean(pairs: list[tuple[Ids, Ids]]) -> float:
        return float(np.mean([np.mean(a == b) for a, b in pairs]))

    def within(side: Ids) -> float:
        return mean([(a, b) for own in side for i, a in enumerate(own) for j, b in enumerate(own) if i != j])

    across = [(a, b) for own, other in zip(first, second, strict=True) for a in own for b in other]
    return within(first) + within(second) - 2 * mean(across)


def test_mmd_of_a_case_worked_out_by_hand() -> None:
    first, second = np.array([[[1, 2], [1, 3]]], dtype=np.int32), np.array([[[1, 2], [4, 4]]], dtype=np.int32)
    # Within: 1/2 and 0. Across: (1 + 0 + 1/2 + 0) / 4.
    assert met.mmd(first, second) == pytest.approx(0.5 + 0.0 - 2 * 0.375)


def test_mmd_is_what_the_plain_computation_gives() -> None:
    rng = np.random.default_rng(0)
    first, second = drawn(rng, 3, 5), drawn(rng, 3, 4)
    assert met.mmd(first, second) == pytest.approx(plain_mmd(first, second))


def test_mmd_is_what_its_authors_package_gives() -> None:
    theirs = pytest.importorskip("model_equality_testing.tests", reason="MET's package is not installed")
    from model_equality_testing.distribution import CompletionSample

    rng = np.random.default_rng(1)
    first, second = drawn(rng, 4, 6), drawn(rng, 4, 6)

    def sample(side: Ids) -> object:
        return CompletionSample(np.repeat(np.arange(len(side)), side.shape[1]), side.reshape(-1, side.shape[2]), m=4)

    assert met.mmd(first, second) == pytest.approx(float(theirs.mmd_hamming(sample(first), sample(second))))


def test_p_values_of_an_unchanged_endpoint_are_uniform() -> None:
    rng = np.random.default_rng(2)
    found = [met.p_value(drawn(rng, 3, 5), drawn(rng, 3, 5), 99, rng) for _ in range(150)]
    assert kstest(found, "uniform").pvalue > 1e-3


def test_other_prompts_answers_are_never_compared() -> None:
    """Two prompts with answers of their own: only a test that deals answers across prompts would find a difference."""
    own = np.array([[[1, 1]] * 4, [[2, 2]] * 4], dtype=np.int32)
    assert met.p_value(own, own, 99, np.random.default_rng(3)) == 1.0


def test_another_model_has_the_smallest_p_value() -> None:
    rng = np.random.default_rng(4)
    assert met.p_value(drawn(rng, 4, 8), drawn(rng, 4, 8) + 10, 99, rng) == pytest.approx(0.01)
