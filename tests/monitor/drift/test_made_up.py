"""Made-up rounds have the means, spreads and kinds that they are to have."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.drift.made_up import Border, Cadence, Fingerprint, Tier
from monitor.drift.observation import FloatArray
from monitor.drift.response_noise import ResponseNoise

STILL = ResponseNoise(0.03, 0.5, 0.0)
HOURLY = Cadence(24, 8)


def lawful(tier: Tier, cadence: Cadence = HOURLY, *, endpoints: int = 40, days: int = 10) -> FloatArray:
    return tier.lawful(np.random.default_rng(0), endpoints, days, cadence)


def changed(tier: Tier, cadence: Cadence = HOURLY, *, endpoints: int = 40, days: int = 2) -> FloatArray:
    return tier.changed(np.random.default_rng(0), endpoints, days, cadence)


@pytest.mark.parametrize("tier", [Fingerprint(STILL, 0.2), Border(0.5)])
@pytest.mark.parametrize("cadence", [Cadence(4, 3), Cadence(24, 8), Cadence(288, 32)])
def test_scores_are_shares_and_as_many_as_rounds(tier: Tier, cadence: Cadence) -> None:
    for scores in (
        lawful(tier, cadence, endpoints=3, days=2),
        changed(tier, cadence, endpoints=3, days=2),
    ):
        assert scores.shape == (3, 2 * cadence.rounds_a_day)
        assert ((scores >= 0.0) & (scores <= 1.0)).all()


def test_a_fingerprint_without_a_shift_is_lawful() -> None:
    assert changed(Fingerprint(STILL, 0.0)).mean() == pytest.approx(lawful(Fingerprint(STILL, 0.0)).mean(), rel=0.02)


def test_a_lawful_score_depends_on_no_scale() -> None:
    small, large = (lawful(Fingerprint(ResponseNoise(noise, 0.5, 0.0), 0.1)).mean() for noise in (0.01, 0.1))
    assert small == pytest.approx(large, rel=0.02)


def test_a_larger_shift_scores_more_up_to_all() -> None:
    means = [changed(Fingerprint(STILL, shift)).mean() for shift in (0.0, 0.02, 0.07, 0.2, 5.0)]
    assert means == sorted(means)
    assert means[-1] == 1.0


def test_a_share_of_the_answers_scores_its_part() -> None:
    none, half, all_ = (changed(Fingerprint(STILL, 5.0, share)).mean() for share in (0.0, 0.5, 1.0))
    assert half == pytest.approx((none + all_) / 2.0, abs=0.03)


def test_more_requests_spread_less() -> None:
    few, many = (lawful(Fingerprint(STILL, 0.1), Cadence(24, size)).std() for size in (4, 16))
    assert few == pytest.approx(2.0 * many, rel=0.1)


def test_days_that_differ_spread_day_means() -> None:
    def spread(daily: float) -> float:
        scores = lawful(Fingerprint(ResponseNoise(0.03, 0.5, daily), 0.1))
        return float(np.log(scores.reshape(40, 10, 24).mean(axis=2)).std())

    assert spread(0.3) == pytest.approx(0.3, rel=0.15)
    assert spread(0.0) < 0.05


def test_border_rates_are_those_of_days_and_flips_come_on_top() -> None:
    cadence = Cadence(24, 10)
    rates = lawful(Border(0.5), cadence, days=40).reshape(-1, 24).mean(axis=1)
    assert rates.mean() == pytest.approx(0.1, abs=0.005)
    assert rates.std() == pytest.approx(np.hypot(0.047, np.sqrt(0.09 / 240)), rel=0.1)
    assert changed(Border(0.5), cadence, days=20).mean() == pytest.approx(0.55, abs=0.01)
    assert (changed(Border(1.0), cadence) == 1.0).all()
