from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.resplit import SMALLEST_P, Deals, upper_tail, ways


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


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4))
def test_ways_are_all_ways_to_deal_each_kind(kinds: list[tuple[int, int]]) -> None:
    x, y = (np.array(side) for side in zip(*kinds, strict=True))
    found = ways(x, y, 10_000, np.random.default_rng(0))
    expected = [way for way in product(*(range(a + b + 1) for a, b in kinds)) if sum(way) == x.sum()]
    assert sorted(map(tuple, found.counts.tolist())) == expected
    assert found.counts[found.seen].tolist() == x.tolist()
    assert found.chances.sum() == pytest.approx(1.0)
    share = x.sum() / max(1, (x + y).sum())
    assert found.chances @ found.counts == pytest.approx((x + y) * share)


def test_too_many_ways_are_drawn_and_the_one_seen_is_among_them() -> None:
    x, y = np.ones(30, dtype=np.int64), np.zeros(30, dtype=np.int64) + 2
    found = ways(x, y, 500, np.random.default_rng(0))
    assert len(found.counts) == 500
    assert found.counts[found.seen].tolist() == x.tolist()
    assert set(found.counts.sum(axis=1).tolist()) == {30}
