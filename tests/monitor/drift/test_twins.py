from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.twins import twins_test


def test_seven_against_none_are_needed() -> None:
    assert twins_test(6, 0) > 0.02
    assert twins_test(7, 0) == pytest.approx(2 / 2**7)
    assert twins_test(0, 8) == pytest.approx(0.008, abs=5e-4)


@given(st.integers(0, 60), st.integers(0, 60))
def test_it_is_the_binomial_test_of_a_fair_coin(one: int, other: int) -> None:
    from scipy.stats import binomtest

    expected = binomtest(one, one + other, 0.5).pvalue if one + other else 1.0
    assert twins_test(one, other) == pytest.approx(expected)
