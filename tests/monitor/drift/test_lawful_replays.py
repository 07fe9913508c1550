from __future__ import annotations

import numpy as np
import pytest

from monitor.drift.lawful_replays import counts_toward_alarms, stopped
from monitor.drift.observation import FloatArray


def flat(values: FloatArray) -> FloatArray:
    """Paths of log E that end at these values."""
    return np.log(np.maximum(values, 1e-12))[:, np.newaxis]


def test_a_path_stops_at_the_threshold_and_no_later() -> None:
    paths = np.log([[2.0, 150.0, 0.1], [3.0, 0.5, 0.25], [1e9, 1.0, 1.0]])
    assert stopped(paths, 0.01) == pytest.approx([100.0, 0.25, 100.0])


def test_few_replays_show_nothing_however_small_they_are() -> None:
    few = counts_toward_alarms({"replayed": flat(np.full(100, 0.01))}, alpha=0.001)
    assert not few.counts
    assert "needed" in few.reason
    assert counts_toward_alarms({"replayed": flat(np.full(6_000, 0.01))}, alpha=0.001).counts


def test_as_many_as_are_needed_are_enough() -> None:
    reason = counts_toward_alarms({"replayed": flat(np.full(10, 0.2))}, alpha=0.01).reason
    needed = int(reason.split("(")[2].split()[0].replace(",", ""))
    assert counts_toward_alarms({"replayed": flat(np.full(needed, 0.2))}, alpha=0.01).counts
    assert not counts_toward_alarms({"replayed": flat(np.full(needed // 3, 0.2))}, alpha=0.01).counts


def test_a_mean_above_one_never_counts() -> None:
    values = np.where(np.arange(4_000) % 50 == 0, 100.0, 0.1)
    found = counts_toward_alarms({"noisy": flat(values)}, alpha=0.01)
    assert not found.counts
    assert found.mean == pytest.approx(2.098)
    assert "ranks causes" in found.reason


def test_a_mean_of_one_is_taken_for_less_in_one_case_of_twenty_at_most() -> None:
    """Values that are 1/α with chance α, and 0: the null's worst, of mean exactly 1."""
    rng = np.random.default_rng(0)
    wrong = [
        counts_toward_alarms({"edge": flat(np.where(rng.random(600) < 0.05, 20.0, 0.0))}, alpha=0.05).counts
        for _ in range(600)
    ]
    assert np.mean(wrong) <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / 600)


def test_every_kind_of_lawful_noise_has_to_pass() -> None:
    good, bad = flat(np.full(4_000, 0.2)), flat(np.where(np.arange(4_000) % 50 == 0, 100.0, 0.1))
    found = counts_toward_alarms({"kernels": good, "batches": bad}, alpha=0.01)
    assert not found.counts
    assert "batches" in found.reason
    assert counts_toward_alarms({"kernels": good, "batches": good}, alpha=0.01).counts


def test_smaller_values_never_take_the_right_to_count() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.exponential(rng.uniform(0.2, 1.2), 800)
        before = counts_toward_alarms({"x": flat(values)}, alpha=0.05).counts
        assert counts_toward_alarms({"x": flat(values * rng.random(800))}, alpha=0.05).counts >= before


@pytest.mark.parametrize(
    ("lawful", "alpha"),
    [({}, 0.01), ({"x": np.zeros((0, 3))}, 0.01), ({"x": np.zeros(3)}, 0.01), ({"x": np.zeros((2, 2))}, 0.0)],
)
def test_nothing_is_said_without_replays(lawful: dict[str, FloatArray], alpha: float) -> None:
    with pytest.raises(ValueError, match=r"replays are needed|between 0 and 1"):
        counts_toward_alarms(lawful, alpha=alpha)
