from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, boschloo_exact, fisher_exact

from monitor.drift.failures import Sighting, boschloo, fisher, more_failures, new_defect
from monitor.drift.sample_size import per_arm
from monitor.drift.trigger import Paired


@st.composite
def tables(draw: st.DrawFn) -> tuple[int, int, int, int]:
    of, of_before = draw(st.integers(1, 60)), draw(st.integers(1, 60))
    return draw(st.integers(0, of)), of, draw(st.integers(0, of_before)), of_before


@settings(max_examples=50, deadline=None)
@given(tables())
def test_one_prompt_is_fishers_table(table: tuple[int, int, int, int]) -> None:
    failed, of, failed_before, of_before = table
    columns = np.array([[failed, failed_before], [of - failed, of_before - failed_before]])
    expected = fisher_exact(columns, "greater").pvalue
    assert fisher(*table) == pytest.approx(max(1e-12, expected), rel=1e-6, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(tables())
def test_boschloo_rejects_what_fisher_rejects(table: tuple[int, int, int, int]) -> None:
    assert boschloo(*table) <= fisher(*table) * (1 + 1e-6)


@pytest.mark.parametrize("table", [(6, 130, 3, 102), (7, 42, 10, 125), (8, 56, 0, 126), (0, 60, 0, 25)])
def test_boschloo_is_boschloos(table: tuple[int, int, int, int]) -> None:
    failed, of, failed_before, of_before = table
    columns = [[failed, failed_before], [of - failed, of_before - failed_before]]
    assert boschloo(*table) == pytest.approx(boschloo_exact(columns, "greater", n=64).pvalue, rel=1e-4)


@pytest.mark.parametrize(("before", "now"), [(0.97, 0.87)])
def test_the_sample_size_keeps_its_power(before: float, now: float) -> None:
    n = per_arm(before, now)
    failed = np.arange(60)
    chances = binom.pmf(failed, n, 1 - now)[:, np.newaxis] * binom.pmf(failed[:20], n, 1 - before)
    needed = [0]  # the fewest failures that are called, against so many before
    for y in range(20):
        needed.append(next(x for x in range(needed[-1], 60) if boschloo(x, n, y, n) <= 0.01))
    assert chances[failed[:, np.newaxis] >= needed[1:]].sum() >= 0.9


def test_prompts_that_fail_on_both_sides_are_no_evidence() -> None:
    broken = np.arange(60) < 6
    assert more_failures(Paired.of(5 * broken, 5, 5 * broken, 5)) == pytest.approx(1.0)


def test_failures_are_called_no_more_often_than_said() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.1, 2.0, (250, 60))
    called = [more_failures(Paired.of(rng.binomial(5, row), 5, rng.binomial(5, row), 5)) <= 0.1 for row in p]
    assert np.mean(called) <= 0.1 + 3 * np.sqrt(0.09 / 250)


def test_fewer_failures_are_no_alarm() -> None:
    assert more_failures(Paired.of([0] * 10, 5, [5] * 10, 5)) == pytest.approx(1.0)
    assert more_failures(Paired.of([0] * 10, 5, [0] * 10, 5)) == pytest.approx(1.0)
    assert more_failures(Paired.of([0], 0, [0], 5)) == 1.0


@pytest.mark.parametrize(
    ("seen", "answers", "before", "p"),
    [
        (2, 120, 2000, 0.003),
        (3, 120, 2000, 0.0002),
        (2, 40, 2000, 0.0004),
        (2, 120, 500, 0.037),
        (3, 120, 500, 0.007),
        (2, 40, 500, 0.005),
    ],
)
def test_a_new_defect_is_rare_by_chance(seen: int, answers: int, before: int, p: float) -> None:
    assert new_defect(seen, answers, 0, before).p == pytest.approx(p, rel=0.15)


def test_one_sighting_is_told_and_two_are_a_screen_hit() -> None:
    assert new_defect(0, 120, 0, 2000).sighting is Sighting.NONE
    assert new_defect(1, 120, 0, 2000).sighting is Sighting.NOTICE
    assert new_defect(2, 120, 0, 2000).sighting is Sighting.SCREEN_HIT
    assert new_defect(2, 120, 0, 500).sighting is Sighting.NOTICE
    assert new_defect(9, 120, 1, 2000).sighting is Sighting.KNOWN
