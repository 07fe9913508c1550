"""Quantiles of Student's t, against scipy's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from monitor.drift.student import t_quantile


@given(st.floats(0.5, 0.9999), st.floats(1.0, 1e4))
@settings(max_examples=100)
def test_it_is_what_scipy_says(p: float, freedom: float) -> None:
    assert t_quantile(p, freedom) == pytest.approx(float(stdtrit(freedom, p)), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 3, 29, 1e6])
def test_the_one_that_intervals_are_made_with(freedom: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(float(stdtrit(freedom, 0.975)), rel=1e-9)
