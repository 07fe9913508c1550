from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.resplit import SMALLEST_P, Deals, upper_tail


def deals(values: list[int], weights: list[int]) -> Deals:
    return Deals(np.array(values), np.array(weights) / sum(weights))


@st.composite
def one_prompt(draw: st.DrawFn) -> Deals:
    values = draw(st.lists(st.integers(0, 20), min_size=1, max_size=4))
    return deals(values, draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values))))


@settings(max_examples=50)
@given(st.lists(one_prompt(), min_size=1, max_size=5), st.integers(0, 100))
def test_the_tail_is_the_sum_over_every_way_to_deal(prompts: list[Deals], observed: int) -> None:
    expected = sum(
        float(np.prod([one.chances[i] for one, i in zip(prompts, way, strict=True)]))
        for way in product(*(range(one.values.size) for one in prompts))
        if sum(int(one.values[i]) for one, i in zip(prompts, way, strict=True)) >= observed
    )
    assert upper_tail(observed, prompts) == pytest.approx(max(expected, SMALLEST_P), rel=1e-6, abs=1e-12)


def test_a_prompt_may_stand_for_many() -> None:
    coin = deals([0, 1], [1, 1])
    assert upper_tail(20, [coin] * 20) == pytest.approx(2.0**-20, rel=1e-6)
    assert upper_tail(0, [coin] * 20) == pytest.approx(1.0)


def test_nothing_is_surer_than_the_arithmetic() -> None:
    assert upper_tail(100, [deals([0, 1], [1, 1])] * 100) == SMALLEST_P
