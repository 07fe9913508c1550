"""Short forms of `benchmarks.simulated`; its long ones are the soak."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from benchmarks.simulated import delays, nulls
from benchmarks.simulated.__main__ import PARTS
from benchmarks.simulated.figure import Figure, share
from benchmarks.simulated.rounds import day_rates
from monitor.drift.evidence import Tier


def missed(figures: Iterable[Figure]) -> list[str]:
    return [one.what for one in figures if one.missed]


def test_a_share_may_be_two_standard_errors_beyond_its_goal() -> None:
    assert not share("x", np.arange(100) < 2, 0.01, "G9").missed
    assert share("x", np.arange(100) < 4, 0.01, "G9").missed
    assert not Figure("told", 5.0, "").missed
    assert Figure("never", np.inf, "rounds", 24.0).missed


def test_shared_shocks_leave_each_endpoint_as_it_was() -> None:
    rates = day_rates(np.random.default_rng(0), 40, 400, in_common=0.5)
    assert rates.mean() == pytest.approx(0.1, abs=0.01)
    assert rates.std() == pytest.approx(0.047, abs=0.004)
    assert np.corrcoef(rates[:, :])[0, 1] == pytest.approx(0.45, abs=0.15)


def test_days_that_differ_raise_no_alarm_where_bets_by_the_hour_alone_do() -> None:
    assert missed(nulls.false_alarms(nulls.border, 150)) == []
    assert nulls.without_days(60).value > 0.5


def test_endpoints_that_share_shocks_are_seldom_listed_falsely() -> None:
    assert missed(nulls.false_discoveries(2, endpoints=60, changed=6)) == []


def test_a_swap_is_proven_within_fifteen_rounds_and_dated_within_two() -> None:
    found = delays.border_proofs(1.0, 20)
    assert found.missed == 0.0
    assert found.median <= 15
    assert np.median(found.dated) <= 2


def test_int8_weights_are_proven_within_a_day_of_hours() -> None:
    found = delays.fingerprint_proofs(0.03, delays.SHIFTS["int8"], 6, days=3)
    assert found.median <= 24
    assert np.median(found.dated) <= 12


def test_one_tier_needs_more_where_others_share_the_average() -> None:
    assert delays.needed(Tier.LOGPROBS, (Tier.LOGPROBS,)) == 1_000.0
    assert 1_500.0 < delays.needed(Tier.LOGPROBS, delays.WITH) < 2_000.0
    assert 4_500.0 < delays.needed(Tier.LOGPROBS, delays.WITH, of_tier=3) < 6_000.0


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("part", ["nulls", "endpoints", "dates", "answers", "cpu"])
def test_every_promise_holds_in_the_long_form(part: str) -> None:
    assert missed(PARTS[part](1.0, 1)) == []
