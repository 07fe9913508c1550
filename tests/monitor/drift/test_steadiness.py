from __future__ import annotations

import numpy as np
import pytest

from monitor.drift.calibration import unsteady_p
from monitor.drift.levels import DAY
from monitor.drift.steadiness import day_means, moved_p


def test_days_that_are_alike_are_seldom_called_moved() -> None:
    rng = np.random.default_rng(0)
    p = np.array([moved_p([rng.standard_normal((14, 20)) for _ in range(3)]) for _ in range(200)])
    assert np.mean(p <= 0.05) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 200)
    assert np.mean(p <= 0.5) >= 0.4
    assert p.min() >= 1 / 2_000


def test_of_a_single_token_it_is_the_test_of_days_of_scores() -> None:
    rng = np.random.default_rng(2)
    for moved in (0.0, 0.7, 1.5):
        days = rng.standard_normal(12) + moved * (np.arange(12) >= 3)
        assert moved_p([days[:, np.newaxis]]) == unsteady_p(days)


def test_a_level_that_moves_in_between_is_seen_whatever_the_direction() -> None:
    rng = np.random.default_rng(1)
    moved = rng.standard_normal((14, 20))
    moved[6:] += 1.5 * rng.choice([-1.0, 1.0], 20)
    p = moved_p([moved])
    assert p is not None
    assert p <= 0.005


def test_days_that_are_the_same_to_the_bit_show_nothing() -> None:
    assert moved_p([np.zeros((10, 4))]) == 1.0


def test_few_days_cannot_tell() -> None:
    assert moved_p([np.zeros((6, 4))]) is None
    assert moved_p([np.zeros((8, 4)), np.zeros((9, 4))]) is None


def test_a_day_counts_whole_or_not_at_all() -> None:
    at = np.array([*np.arange(4), *(DAY + np.arange(4)), 2.0 * DAY])
    found = np.repeat([[1.0, np.nan], [3.0, 5.0], [100.0, 100.0]], [4, 4, 1], axis=0)
    assert day_means(at, found) == pytest.approx(np.array([[1.0, 0.0], [3.0, 5.0]]))
