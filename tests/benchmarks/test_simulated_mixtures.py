"""Short forms of the part `mixtures` of `benchmarks.simulated`; its long form is the soak."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulated import mixtures
from benchmarks.simulated.figure import share


@pytest.mark.parametrize("lawful", mixtures.HARD.values(), ids=mixtures.HARD)
def test_one_stack_is_seldom_taken_for_two_whatever_its_tails_and_days(lawful: mixtures.Lawful) -> None:
    assert not share("two found", mixtures.one_stack(lawful, 12), mixtures.ALPHA, "").missed


@pytest.mark.parametrize("chances", [[0.5, 0.5], [0.7, 0.3], [0.9, 0.1]])
def test_two_stacks_are_found_and_their_intervals_hold_the_share(chances: list[float]) -> None:
    found = mixtures.several(chances, 0.03, 12)
    assert np.mean(found.stacks == 2) >= 0.9
    assert not share("missed", ~found.covered.astype(bool), 0.05, "").missed
    assert found.right.min() > 0.95


def test_a_change_of_shares_and_a_new_stack_are_told_apart() -> None:
    moved = mixtures.watched([0.45, 0.55, 0.0], 2, hours=150)
    assert np.isfinite(moved.routing).all()
    assert not np.isfinite(moved.new).any()
    came = mixtures.watched([0.49, 0.21, 0.3], 2, hours=100)
    assert np.isfinite(came.new).all()
    assert not np.isfinite(came.routing).any()
    assert np.median([*moved.dated, *came.dated]) <= 12


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_every_promise_holds_in_the_long_form() -> None:
    assert [one.what for one in mixtures.mixture_figures(1.0, 1) if one.missed] == []
