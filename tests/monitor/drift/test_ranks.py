from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.ranks import rank_p, tie_breaker


@settings(max_examples=50)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.floats(0.001, 1.0))
def test_the_ranks_of_a_bag_cover_the_unit_interval_once(bag: list[int], tie: float) -> None:
    # Whichever of the bag came last, the bins [p(0+), p(1)] add up to 1: p is uniform where each is as likely.
    widths = []
    for last in range(len(bag)):
        past = [float(one) for place, one in enumerate(bag) if place != last]
        widths.append(rank_p(past, float(bag[last]), 1.0) - rank_p(past, float(bag[last]), 0.0))
        assert 0.0 < rank_p(past, float(bag[last]), tie) <= 1.0
    equal = {one: bag.count(one) for one in bag}
    np.testing.assert_allclose(widths, [equal[one] / len(bag) for one in bag])


def test_the_first_round_and_the_largest_so_far() -> None:
    assert rank_p([], 0.5, 0.3) == 0.3
    assert rank_p([0.1] * 19, 0.9, 1.0) == 1 / 20


def test_ties_are_broken_the_same_way_at_every_replay() -> None:
    drawn = [tie_breaker(3, index) for index in range(200)]
    assert drawn == [tie_breaker(3, index) for index in range(200)]
    assert min(drawn) > 0.0
    assert abs(np.mean(drawn) - 0.5) < 0.07
    assert drawn != [tie_breaker(4, index) for index in range(200)]
