from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from monitor.drift.failures import fisher, more_failures
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
