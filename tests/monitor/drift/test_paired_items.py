"""Eval items compared one by one: the exact test, what is left out, and how often nothing is called something."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from monitor.drift.paired_items import Marks, PairedItems, compare_items

MARKS = st.lists(st.sampled_from([True, False, None]), max_size=4)


def compared(here: Marks, there: Marks) -> PairedItems:
    found = compare_items(here, there)
    assert found is not None
    return found


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (0, 7), (1, 7), (5, 5), (0, 20)])
def test_p_is_the_exact_one_of_discordant_items(gained: int, lost: int) -> None:
    both = {f"both{number}": [True] for number in range(30)}
    won, missed = ({f"{side}{number}": [True] for number in range(n)} for side, n in (("g", gained), ("l", lost)))
    not_won, not_missed = ({name: [False] for name in side} for side in (won, missed))
    found = compared({**both, **won, **not_missed}, {**both, **not_won, **missed})

    assert (len(found.gained), len(found.lost)) == (gained, lost)
    expected = binomtest(lost, gained + lost).pvalue if gained + lost else 1.0
    assert found.p == pytest.approx(expected)
    assert found.difference is not None
    assert found.difference.value == pytest.approx((gained - lost) / (30 + gained + lost))


def test_what_one_side_lacks_or_could_not_grade_is_left_out_of_both() -> None:
    here: Marks = {"a": [True, None, True], "b": [True], "here": [True], "c": [None]}
    there: Marks = {"a": [False, True, True], "b": [None], "there": [False], "c": [True]}
    found = compared(here, there)
    assert (found.items, found.not_compared, found.gained, found.lost) == (1, 4, ("a",), ())
    assert (found.here.numerator, found.here.denominator, found.here.excluded) == (2, 2, {"ungraded": 2, "unpaired": 2})
    assert (found.there.numerator, found.there.denominator) == (1, 2)
    assert found.there.excluded == {"ungraded": 1, "unpaired": 3}
    assert found.difference is None


def test_nothing_in_common_is_no_comparison() -> None:
    assert compare_items({"a": [True]}, {"b": [True]}) is None
    assert compare_items({"a": [None]}, {"a": [True]}) is None
    assert compare_items({}, {}) is None


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(MARKS, MARKS), min_size=1))
def test_the_sides_can_change_places(pairs: dict[str, tuple[list[bool | None], list[bool | None]]]) -> None:
    here, there = ({item: both[side] for item, both in pairs.items()} for side in (0, 1))
    found, turned = compare_items(here, there), compare_items(there, here)
    if found is None or turned is None:
        assert (found, turned) == (None, None)
        return
    assert (found.gained, found.lost, found.p) == (turned.lost, turned.gained, pytest.approx(turned.p))
    assert (found.here, found.there) == (turned.there, turned.here)
    assert set(found.gained).isdisjoint(found.lost)


def test_several_runs_are_as_many_ways_to_be_the_one_that_is_compared() -> None:
    """Of three runs one fails all of three items: each of them is as likely to be this one, item by item."""
    right, wrong = ({name: [found] for name in "abc"} for found in (True, False))
    found = compare_items(wrong, right, right)

    assert found is not None
    assert found.p == pytest.approx(2 / 3**3)
    assert (found.there.numerator, found.there.denominator) == (6, 6)
    assert found.lost == ("a", "b", "c")


def test_an_unchanged_endpoint_is_seldom_called_changed_and_a_worse_one_mostly() -> None:
    rng = np.random.default_rng(7)
    share = rng.beta(4, 1, size=150)

    def side(lost: float) -> Marks:
        right = rng.random((150, 3)) < (share * (1 - lost))[:, None]
        return {str(number): list(map(bool, row)) for number, row in enumerate(right)}

    assert sum(compared(side(0.0), side(0.0)).p <= 0.05 for _ in range(80)) <= 10
    assert sum(compared(side(0.2), side(0.0)).p <= 0.05 for _ in range(20)) >= 17
