from __future__ import annotations

import numpy as np
import pytest

from monitor.drift.calibration import calibrate, unsteady_p
from monitor.drift.levels import DAY, Calibration, Standing
from monitor.drift.score_stream import Round
from tests.monitor.drift.rounds import days_of


def calibrated(rounds: list[Round], **options: float) -> Calibration:
    at, scores = (np.array(column) for column in zip(*rounds, strict=True))
    return calibrate(at, scores, days=int(options.pop("days", 14)), **options)


def test_levels_lie_beyond_the_days_they_come_from() -> None:
    rounds = days_of(np.random.default_rng(0), 14)
    found = calibrated(rounds)
    assert found.standing is Standing.READY
    assert found.levels is not None
    assert found.noise is not None
    means = np.array([one.score for one in rounds]).reshape(14, 24).mean(axis=1)
    assert found.noise.mean == pytest.approx(means.mean())
    assert found.levels.hourly > means.max()
    assert means.mean() + 0.02 < found.levels.daily < found.levels.hourly
    assert found.reason == str(found.levels)
    assert "14 days" in found.reason


def test_levels_are_exceeded_by_few_days_to_come() -> None:
    rng = np.random.default_rng(1)
    beyond = []
    for _ in range(150):
        levels = calibrated(days_of(rng, 14)).levels
        if levels is not None:
            beyond.append(np.mean(rng.beta(4.0, 36.0, 100) > levels.hourly))
    assert len(beyond) >= 145
    # 99.9 % of normal ones; days of this law have a longer tail.
    assert np.mean(beyond) <= 0.004


def test_fewer_days_widen_the_levels() -> None:
    rounds = days_of(np.random.default_rng(2), 14)
    long, short = calibrated(rounds).levels, calibrated(rounds, days=7).levels
    assert long is not None
    assert short is not None
    assert short.days == 7
    with pytest.raises(ValueError, match="7 days"):
        calibrated(rounds, days=6)


def test_a_silent_endpoint_keeps_the_margin() -> None:
    levels = calibrated([Round(one.at, 0.0) for one in days_of(np.random.default_rng(3), 14)]).levels
    assert levels is not None
    assert (levels.hourly, levels.daily) == (0.02, 0.02)


def test_blocks_that_differ_within_days_raise_the_hourly_level() -> None:
    rng = np.random.default_rng(4)
    flat = days_of(rng, 14)
    night = [Round(one.at, min(1.0, one.score + 0.2 * (one.at % DAY < 21_600))) for one in flat]
    still = [Round(one.at, min(1.0, one.score + 0.05)) for one in flat]
    by_night, without = calibrated(night).levels, calibrated(still).levels
    assert by_night is not None
    assert without is not None
    assert by_night.hourly > without.hourly + 0.1
    assert by_night.daily == pytest.approx(without.daily, abs=0.02)


def test_days_and_hours_that_are_missing_are_waited_for() -> None:
    rounds = days_of(np.random.default_rng(5), 14)
    assert calibrated(rounds[:-24]).standing is Standing.TOO_SHORT
    assert calibrated(rounds[:-24]).reason == "13 of 14 days"
    daytime = [one for one in rounds if one.at % DAY >= 21_600]
    assert calibrated(daytime).reason == "too little was asked from 00:00 to 06:00 UTC"
    assert calibrate(np.array([]), np.array([])).standing is Standing.TOO_SHORT


def test_a_baseline_that_moved_is_none() -> None:
    rng = np.random.default_rng(6)
    rounds = days_of(rng, 7) + days_of(rng, 7, first=20_007, moved=0.3)
    found = calibrated(rounds)
    assert found.standing is Standing.UNSTEADY
    assert found.levels is None


def test_steady_days_are_seldom_called_unsteady() -> None:
    rng = np.random.default_rng(7)
    p = np.array([unsteady_p(days) for days in rng.beta(4.0, 36.0, (200, 14))])
    assert np.mean(p <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert p.min() >= 1 / 2_000


def test_noise_that_hides_what_is_to_be_seen_is_inapplicable() -> None:
    rounds = days_of(np.random.default_rng(8), 14)
    found = calibrated(rounds, target=0.08)
    assert found.standing is Standing.TOO_NOISY
    assert found.noise is not None
    assert "1.5 needed" in found.reason
    loud = [Round(one.at, min(1.0, one.score + 0.6)) for one in rounds]
    assert calibrated(loud).standing is Standing.TOO_NOISY
