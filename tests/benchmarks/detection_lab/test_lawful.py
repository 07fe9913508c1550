"""Lawful noise and what an endpoint shows: facts of the arrays that simulations run on."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.detection_lab.lawful import Lawful, greedy_tokens, listed, side_by_side


def test_noise_has_the_stated_deviation_half_of_its_variance_common_to_a_response() -> None:
    drawn = Lawful(0.04).drawn((2_000, 50), np.random.default_rng(0))
    assert drawn.std() == pytest.approx(0.04, rel=0.05)
    assert drawn.mean(axis=1).var() == pytest.approx(0.04**2 * (0.5 + 0.5 / 50), rel=0.1)


def test_a_day_shifts_a_token_in_all_of_its_responses_alike() -> None:
    drawn = Lawful(response=0.0, day=0.02).drawn((300, 8, 20), np.random.default_rng(1))
    assert np.ptp(drawn, axis=1).max() == 0.0
    assert drawn.std() == pytest.approx(0.02, rel=0.05)


def test_only_the_most_likely_tokens_are_listed() -> None:
    shown = listed(np.array([[-3.0, -1.0, -2.0, -np.inf], [-1.0, -2.0, -3.0, -4.0]]), k=2)
    assert np.isnan(shown).tolist() == [[True, False, False, True], [False, False, True, True]]


def test_two_stacks_stand_side_by_side_over_the_tokens_that_either_knows() -> None:
    ours, theirs = side_by_side(
        np.array([7, 3], dtype=np.int32),
        np.array([-1.0, -2.0]),
        np.array([3, 5], dtype=np.int32),
        np.array([-0.5, -4.0]),
    )
    # In the order of the tokens 3, 5, 7.
    assert ours.tolist() == [-2.0, -np.inf, -1.0]
    assert theirs.tolist() == [-0.5, -4.0, -np.inf]


def test_near_ties_flip_as_often_as_noise_of_their_size_makes_them() -> None:
    """A gap of one standard deviation of the difference flips in 15.9 % of the answers."""
    places = greedy_tokens(np.array([[0.0, -0.03], [0.0, -9.0]]), 4_000, Lawful(0.03), np.random.default_rng(2))
    assert places[0].mean() == pytest.approx(0.1587, abs=4 * np.sqrt(0.1587 * 0.8413 / 4_000))
    assert not places[1].any()
