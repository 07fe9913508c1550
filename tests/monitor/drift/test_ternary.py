from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.interval import Interval
from monitor.drift.rule import Verdict
from monitor.drift.ternary import (
    DEFAULT_MARGINS,
    Difference,
    Margin,
    Outcome,
    bca,
    difference,
    outcome,
    verdict,
)
from monitor.drift.trigger import Paired

FloatArray = np.ndarray


def answers(q: FloatArray, p: FloatArray, r: int, rng: np.random.Generator) -> Paired:
    return Paired.of(rng.binomial(r, q), r, rng.binomial(r, p), r)


@pytest.mark.parametrize(
    ("low", "high", "two_sided", "one_sided"),
    [
        (-0.02, 0.02, Outcome.PASS, Outcome.PASS),
        (-0.02, 0.04, Outcome.INCONCLUSIVE, Outcome.PASS),
        (0.031, 0.05, Outcome.FAIL, Outcome.PASS),
        (-0.04, 0.0, Outcome.INCONCLUSIVE, Outcome.INCONCLUSIVE),
        (-0.05, -0.031, Outcome.FAIL, Outcome.FAIL),
    ],
)
def test_an_interval_against_its_margin(low: float, high: float, two_sided: Outcome, one_sided: Outcome) -> None:
    found = Difference((low + high) / 2, Interval(low, high))
    assert outcome(found, Margin(0.03, one_sided=False)) is two_sided
    assert outcome(found, Margin(0.03)) is one_sided


@pytest.mark.parametrize(
    ("found", "p", "said"),
    [
        ([Outcome.PASS, Outcome.PASS], 1.0, Verdict.OK),
        ([Outcome.PASS, Outcome.FAIL], 1e-4, Verdict.DRIFT),
        ([Outcome.FAIL], 1e-2, Verdict.SUSPECT),
        ([Outcome.FAIL], 0.02, Verdict.INCONCLUSIVE),
        ([Outcome.PASS, Outcome.INCONCLUSIVE], 1.0, Verdict.INCONCLUSIVE),
    ],
)
def test_outcomes_are_a_verdict_by_their_p(found: list[Outcome], p: float, said: Verdict) -> None:
    assert verdict(found, p) is said


def test_too_few_prompts_conclude_nothing() -> None:
    assert difference(Paired.of([5], 5, [5], 5)) is None
    assert outcome(None, DEFAULT_MARGINS["schema_ok"]) is Outcome.INCONCLUSIVE


def test_an_unbroken_row_of_successes_shows_only_so_much() -> None:
    for prompts, low in ((120, -0.031), (1_000, -0.004)):
        found = difference(Paired.of([5] * prompts, 5, [5] * prompts, 5))
        assert found is not None
        assert found.value == 0.0
        assert found.interval.low == pytest.approx(low, abs=5e-4)
    assert outcome(found, DEFAULT_MARGINS["schema_ok"]) is Outcome.PASS


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_the_interval_holds_the_difference_and_turns_with_the_sides(prompts: list[tuple[int, int]]) -> None:
    x, y = (list(column) for column in zip(*prompts, strict=True))
    found, turned = difference(Paired.of(x, 5, y, 5)), difference(Paired.of(y, 5, x, 5))
    assert found is not None
    assert turned is not None
    assert found.value == pytest.approx(-turned.value)
    assert found.interval.low - 1e-9 <= found.value <= found.interval.high + 1e-9
    assert found.interval.low == pytest.approx(-turned.interval.high, abs=0.02)


def ambiguous(rng: np.random.Generator) -> Paired:
    p = rng.beta(0.43, 0.45, 120)
    return answers(p, p, 8, rng)


def rarely_wrong(rng: np.random.Generator) -> Paired:
    return answers(np.full(120, 0.98), np.full(120, 0.98), 5, rng)


def a_tenth_lost(rng: np.random.Generator) -> Paired:
    p = rng.beta(9, 1, 120)
    return answers(np.where(rng.random(120) < 0.1, 0.0, p), p, 5, rng)


@pytest.mark.parametrize(("draw", "truth"), [(ambiguous, 0.0), (rarely_wrong, 0.0), (a_tenth_lost, -0.09)])
def test_the_interval_holds_the_truth_nineteen_times_of_twenty(
    draw: Callable[[np.random.Generator], Paired], truth: float
) -> None:
    rng = np.random.default_rng(0)
    found = [difference(draw(rng), seed=seed) for seed in range(120)]
    held = [one is not None and one.interval.low <= truth <= one.interval.high for one in found]
    assert np.mean(held) >= 0.95 - 2.5 * np.sqrt(0.05 * 0.95 / 120)


def test_a_symmetric_statistic_has_its_plain_quantiles() -> None:
    rng = np.random.default_rng(0)
    replicates = rng.normal(size=20_001)
    found = bca(float(np.median(replicates)), replicates, np.array([-1.0, 1.0]))
    assert (found.low, found.high) == pytest.approx((-1.96, 1.96), abs=0.05)
