"""How many tokens are drafted at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_engine.sched.pace import Pace


def passes(history: list[int], count: int) -> list[int]:
    """The drafts of each of `count` passes, of which as many prove right as `history` says, over and over."""
    pace, found = Pace(), []
    for turn in range(count):
        found.append(pace.most)
        right = min(history[turn % len(history)], pace.most)
        pace = pace.learned(pace.most, right) if pace.most else pace.rested()
    return found


def test_where_all_prove_right_there_are_ever_more() -> None:
    assert passes([99], 8) == [2, 4, 8, 16, 32, 64, 64, 64]


def test_a_drafter_that_had_less_to_say_may_say_more_next_time() -> None:
    assert Pace(8).learned(drafted=1, accepted=1).most == 8


def test_where_some_prove_right_there_is_one_more_than_that() -> None:
    assert passes([99, 99, 3, 3], 6) == [2, 4, 8, 4, 4, 8]


def test_a_drafter_that_is_always_wrong_soon_has_one_row_in_33_passes() -> None:
    assert sum(passes([0], 69)) == 7
    assert sum(passes([0], 69 + 330)) == 7 + 10


def test_one_that_proves_right_again_is_trusted_again() -> None:
    pace = Pace(1, misses=9)

    assert pace.learned(1, 1).learned(2, 0) == Pace(1, misses=1, pause=1)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20))
def test_no_history_ends_drafting_or_lets_it_grow_without_bound(history: list[int]) -> None:
    found = passes(history, 200)

    assert max(found) <= 64
    assert any(found[-34:])
