from __future__ import annotations

import pytest

from monitor.drift.sample_size import per_arm, until_bounded, until_seen


@pytest.mark.parametrize(
    ("share", "worse", "n"),
    [(0.999, 0.98, 747), (0.99, 0.97, 1274), (0.98, 0.95, 975), (0.97, 0.87, 190), (1.0, 0.9589, 308)],
)
def test_answers_a_side_for_a_fall_of_the_success_rate(share: float, worse: float, n: int) -> None:
    assert per_arm(share, worse) == n


@pytest.mark.parametrize(
    ("share", "n"), [(0.005, 598), (0.01, 299), (0.02, 149), (0.05, 59), (0.13, 22), (0.1, 29), (0.25, 11), (1.0, 1)]
)
def test_answers_until_something_has_been_seen(share: float, n: int) -> None:
    assert until_seen(share) == n
    assert 1 - (1 - share) ** n >= 0.95
    assert n == 1 or 1 - (1 - share) ** (n - 1) < 0.95


@pytest.mark.parametrize(("quantile", "n"), [(0.95, 59), (0.99, 299)])
def test_values_until_a_quantile_is_bounded(quantile: float, n: int) -> None:
    assert until_bounded(quantile) == n
