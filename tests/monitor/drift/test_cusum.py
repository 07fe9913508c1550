from __future__ import annotations

import numpy as np
import pytest

from monitor.drift.cusum import Cusum, cusum_threshold, standardised

YEAR = 8_766


@pytest.mark.parametrize(("threshold", "run_length"), [(4.0, 335.37), (5.0, 930.89)])
def test_run_lengths_are_the_published_ones(threshold: float, run_length: float) -> None:
    # One-sided with k = 0.5 (Hawkins & Olwell 1998); two sides last half as long.
    assert cusum_threshold(round(run_length / 2)) == pytest.approx(threshold, abs=0.01)


def test_a_cusum_crosses_once_in_a_year_of_hours() -> None:
    threshold = cusum_threshold(YEAR)
    rng = np.random.default_rng(0)
    up, down = np.zeros(200), np.zeros(200)
    crossed = 0
    for _ in range(YEAR):
        z = rng.normal(size=200)
        up, down = np.maximum(0.0, up + z - 0.5), np.maximum(0.0, down - z - 0.5)
        over = np.maximum(up, down) >= threshold
        crossed += int(over.sum())
        up, down = np.where(over, 0.0, up), np.where(over, 0.0, down)
    assert crossed <= 200 + 3 * np.sqrt(200)
    assert crossed >= 200 - 3 * np.sqrt(200)


def test_a_cusum_sees_a_standing_shift_and_no_single_odd_run() -> None:
    threshold = cusum_threshold(YEAR)
    assert Cusum().after(1_000.0).value < threshold
    for shift in (1.0, -1.0):
        state = Cusum()
        for _ in range(20):
            state = state.after(shift)
        assert state.value >= threshold


def test_a_p_value_becomes_a_normal_value_with_its_sign() -> None:
    assert standardised(0.1, 0.05) == pytest.approx(1.96, abs=0.001)
    assert standardised(-0.1, 0.05) == pytest.approx(-1.96, abs=0.001)
    assert standardised(0.0, 1.0) == 0.0
