"""Thresholds that keep a rate of false alarms an epoch, delays, and the area under a curve."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.detection_lab.rivals import looks, z_rule


def test_threshold_is_exceeded_in_the_allowed_share_of_epochs() -> None:
    nulls = np.arange(1_000, dtype=float).reshape(200, 5)
    limit = looks.threshold(nulls, alpha=0.05)
    exceeded = (nulls > limit).any(axis=1).mean()
    assert exceeded == pytest.approx(0.045)


def test_too_few_epochs_give_no_threshold() -> None:
    assert looks.threshold(np.zeros((50, 3)), alpha=0.01) == np.inf


def test_tuned_naive_rule_keeps_its_rate_on_fresh_epochs_where_the_common_one_alarms_in_most() -> None:
    """Hourly looks at p < .01 alarm in nearly every month; tuned to the month, the same rule alarms in one in ten."""
    rng = np.random.default_rng(0)

    def epochs(count: int) -> np.ndarray:
        return z_rule.z(rng.normal(size=(count, 720)), rng.normal(size=(count, 200)))

    limit = looks.threshold(epochs(1_000), alpha=0.1)
    fresh = epochs(1_000)
    assert (looks.delays(fresh, limit) != looks.NEVER).mean() < 0.1 + 4 * 0.0095
    assert (looks.delays(fresh, 2.326) != looks.NEVER).mean() > 0.9


def test_delay_is_the_first_look_above() -> None:
    paths = np.array([[0.0, 2.0, 3.0], [0.0, 1.0, 1.0]])
    assert looks.delays(paths, 1.0).tolist() == [2, looks.NEVER]


def test_area_counts_pairs_and_halves_ties() -> None:
    # Of six pairs four are above, one is a tie.
    assert looks.auc(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.5])) == pytest.approx((2.5 + 2.0) / 6)
    assert looks.auc(np.zeros(3), np.zeros(2)) == 0.5
