"""T1 and T2 from the answers themselves: silence while nothing changes, and how soon a change is proven."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulated.delays import SHIFTS, WITH, WITHOUT, needed
from benchmarks.simulated.figure import share
from benchmarks.simulated.lists import Lists
from benchmarks.simulated.rounds import HOURS
from benchmarks.simulated.whole_path import Scoring, border_values, delay, list_values
from monitor.drift.evidence import Tier
from monitor.drift.fingerprint_scores import deviation_evidence, log_odds_evidence

SCORINGS = pytest.mark.parametrize("scored", [deviation_evidence, log_odds_evidence])


@SCORINGS
def test_lawful_noise_on_log_probabilities_raises_no_alarm(scored: Scoring) -> None:
    rng = np.random.default_rng(0)
    lists = [Lists.of(rng, 0.03) for _ in range(4)]
    paths = [path for one in lists if (path := list_values(rng, one, one, daily=0.15, scored=scored))]
    assert len(paths) >= 3
    assert max(map(max, paths)) < 20.0


@SCORINGS
def test_int8_weights_are_proven_within_a_day_of_hours(scored: Scoring) -> None:
    rng = np.random.default_rng(1)
    needs = needed(Tier.LOGPROBS, WITH)
    rounds = []
    for _ in range(6):
        one = Lists.of(rng, 0.03)
        if path := list_values(rng, one, one.moved(rng, SHIFTS["int8"]), hours=3 * HOURS, scored=scored):
            rounds.append(delay(path, needs))
    assert len(rounds) >= 5
    assert min(rounds) > 0
    assert np.median(rounds) <= 24


def test_temperature_moves_log_probabilities_and_leaves_log_odds() -> None:
    rng = np.random.default_rng(2)
    one = Lists.of(rng, 0.03)
    plain, odds = (
        list_values(rng, one, one.at_temperature(0.8), hours=3 * HOURS, scored=scored)
        for scored in (deviation_evidence, log_odds_evidence)
    )
    assert max(plain) >= 1_000.0
    assert max(odds) < 20.0


def test_days_that_differ_raise_no_alarm_of_border_inputs() -> None:
    rng = np.random.default_rng(3)
    paths = [path for _ in range(20) if (path := border_values(rng, 0.0))]
    assert len(paths) >= 18
    assert not share("epochs that reach 100", np.array([max(path) for path in paths]) >= 100.0, 0.01, "G9").missed


def test_another_model_is_proven_by_border_inputs_within_a_day() -> None:
    rng = np.random.default_rng(4)
    needs = needed(Tier.BORDER, WITHOUT)
    for elsewhere, most in ((1.0, 15), (0.5, 30)):
        paths = [path for _ in range(7) if (path := border_values(rng, elsewhere, hours=8 * HOURS))]
        assert np.median([delay(path, needs) for path in paths]) <= most
