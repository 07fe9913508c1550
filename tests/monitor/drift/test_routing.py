from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.fleet import Fleet, RoundShares
from monitor.drift.routing import Tracked, tracked

FLEET = Fleet((0.7, 0.3), (0.62, 0.22), (0.83, 0.43), 0.03, {})
ONE = Fleet((1.0,), (0.97,), (1.0,), 0.03, {})
HOURS = 720


def rounds(
    rng: np.random.Generator, count: int, second: float, new: float = 0.0, first: int = 0, sticky: bool = False
) -> list[RoundShares]:
    """Eight answers an hour; where it is sticky, whole rounds are of one stack."""
    found = []
    for place in range(count):
        chances = [(1.0 - second) * (1.0 - new), second * (1.0 - new), new]
        one, other, far = rng.multinomial(1, chances) * 8 if sticky else rng.multinomial(8, chances)
        found.append(RoundShares((first + place) * 3_600.0, (int(one), int(other)), 8, int(far), 8))
    return found


def said(one: Tracked) -> str:
    return one.said(lambda at: f"hour {at / 3_600:.0f}")


@pytest.mark.parametrize("sticky", [False, True])
def test_shares_within_what_is_lawful_are_seldom_called_anything(sticky: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(8):
        end = tracked(FLEET, rounds(rng, 200, 0.4, 0.02, sticky=sticky), horizon=HOURS)
        assert end.routing is None
        assert end.new_backend is None
        assert end.vanished == ()
    assert said(end) == "two stacks, 70% and 30%, when enrolled; consistent with that since"


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 8), max_size=30), st.floats(0.0, 1.0))
def test_no_claim_gains_on_average_while_shares_are_lawful(past: list[int], at: float) -> None:
    """The next round's mean is the lawful one at the most: between all and none of its answers."""
    known = [RoundShares(float(place), (8 - told, told), 8, 0, 8) for place, told in enumerate(past)]
    value = tracked(FLEET, known, horizon=HOURS).routing_e
    chance = at * (FLEET.lawful[1] - (1.0 - FLEET.lawful[0])) + 1.0 - FLEET.lawful[0]
    ends = [RoundShares(1e6, (8 - told, told), 8, 0, 8) for told in (8, 0)]
    up, down = (tracked(FLEET, [*known, one], horizon=HOURS).routing_e for one in ends)
    assert chance * up + (1.0 - chance) * down <= value * (1.0 + 1e-9)


def test_a_change_of_shares_is_routing_with_its_date_and_its_share() -> None:
    rng = np.random.default_rng(1)
    end = tracked(FLEET, rounds(rng, 48, 0.3) + rounds(rng, 200, 0.55, first=48), horizon=HOURS)
    assert end.routing is not None
    stack, moved = end.routing
    assert stack == 1
    assert abs(moved.onset.first / 3_600 - 48) <= 12
    assert moved.now.value == pytest.approx(0.55, abs=0.05)
    assert end.new_backend is None
    assert end.vanished == ()
    text = said(end)
    assert text.startswith("two stacks, 70% and 30%, when enrolled; routing: the second answered 5")
    assert text.endswith("inconsistent with its own history")


def test_a_stack_that_was_not_met_is_a_new_backend_and_no_routing() -> None:
    rng = np.random.default_rng(2)
    end = tracked(FLEET, rounds(rng, 48, 0.3) + rounds(rng, 200, 0.3, 0.3, first=48), horizon=HOURS)
    assert end.routing is None
    assert end.new_backend is not None
    assert end.new_backend.now.value == pytest.approx(0.3, abs=0.05)
    assert end.vanished == ()
    assert "new backend: 3" in said(end)


def test_one_far_answer_is_no_new_backend() -> None:
    rng = np.random.default_rng(3)
    known = rounds(rng, 100, 0.3)
    known[50] = RoundShares(known[50].at, (0, 0), 8, 8, 8)
    assert tracked(FLEET, known, horizon=HOURS).new_backend is None


def test_a_stack_that_another_one_took_the_place_of_has_vanished() -> None:
    rng = np.random.default_rng(4)
    after = [RoundShares(one.at, (one.told[0], 0), 8, one.told[1], 8) for one in rounds(rng, 100, 0.3, first=48)]
    end = tracked(FLEET, rounds(rng, 48, 0.3) + after, horizon=HOURS)
    assert end.new_backend is not None
    assert end.vanished == (1,)
    assert "the second does not answer any more" in said(end)


def test_where_all_is_new_no_known_stack_answers() -> None:
    rng = np.random.default_rng(5)
    end = tracked(FLEET, rounds(rng, 48, 0.3) + rounds(rng, 60, 0.3, 1.0, first=48), horizon=HOURS)
    assert end.vanished == (0, 1)
    assert "none of them answers any more" in said(end)


def test_an_endpoint_with_one_stack_is_watched_for_new_ones() -> None:
    def one(far: Iterable[int]) -> list[RoundShares]:
        return [RoundShares(place * 3_600.0, (8 - some,), 8, some, 8) for place, some in enumerate(far)]

    end = tracked(ONE, one([0] * 24 + [4] * 40), horizon=HOURS)
    assert end.new_backend is not None
    assert end.new_backend.onset.first == 24 * 3_600.0
    assert end.routing is None
    assert said(end).startswith("one stack when enrolled; new backend: 50%")


def test_a_claim_stays_when_shares_come_back() -> None:
    rng = np.random.default_rng(6)
    known = rounds(rng, 100, 0.8) + rounds(rng, 400, 0.3, first=100)
    end = tracked(FLEET, known, horizon=HOURS)
    assert end.routing is not None
    assert end.routing_e < 1_000.0


def test_no_rounds_say_nothing() -> None:
    end = tracked(FLEET, [], horizon=HOURS)
    assert (end.routing_e, end.new_e) == (1.0, 1.0)
    assert end.routing is None


def test_nobody_is_accused() -> None:
    rng = np.random.default_rng(7)
    text = said(tracked(FLEET, rounds(rng, 60, 0.9, 0.3), horizon=HOURS))
    assert not {"fraud", "wrong", "cheat"} & set(text.lower().split())
