from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.sequential import (
    Cusum,
    DifferenceProcess,
    EProcess,
    PValueProcess,
    cusum_threshold,
    standardised,
)
from monitor.drift.trigger import Paired, trigger_test

YEAR = 8_766


def logit_shift(p: np.ndarray, shift: float) -> np.ndarray:
    return np.asarray(p / (p + (1 - p) * np.exp(-shift)))


def night(rng: np.random.Generator, shift: float = 0.0, lost: float = 0.0) -> Paired:
    p = rng.beta(0.434, 0.453, 120)
    q = np.where(rng.random(120) < lost, 0.0, logit_shift(p, shift))
    return Paired.of(rng.binomial(8, q), 8, rng.binomial(8, p), 8)


@settings(max_examples=50)
@given(
    st.floats(0.01, 0.99),
    st.integers(1, 30),
    st.lists(st.floats(0.0, 1.0), max_size=40),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
)
def test_no_bet_gains_on_average_while_scores_are_lawful(
    lawful: float, horizon: int, past: list[float], below: float, above: float
) -> None:
    state = EProcess.start(lawful, horizon)
    for score in past:
        state = state.after(score)
    low, high = below * lawful, lawful + above * (1 - lawful)
    chance = (lawful - low) / (high - low) if high > low else 0.0
    mean = chance * state.after(high).value + (1 - chance) * state.after(low).value
    assert mean <= state.value * (1 + 1e-9)
    assert min(state.after(0.0).value, state.after(1.0).value) >= 0.0


@settings(max_examples=25)
@given(st.integers(1, 30), st.lists(st.floats(1e-12, 1.0), max_size=40))
def test_no_calibrator_gains_on_uniform_p_values(horizon: int, past: list[float]) -> None:
    state = PValueProcess.start(horizon)
    for p in past:
        state = state.after(p)
    # An integral over p on u = p^(1/10), where every calibrator is smooth.
    u = (np.arange(400) + 0.5) / 400
    mean = np.mean([state.after(float(p)).value * 10 * w for p, w in zip(u**10, u**9, strict=True)])
    assert mean <= state.value * (1 + 2e-3)


def test_an_unchanged_endpoint_seldom_reaches_twenty() -> None:
    rng = np.random.default_rng(0)
    reached = []
    for _ in range(40):
        state = DifferenceProcess.start(0.0, 360)
        values = []
        for difference in np.concatenate([(run := night(rng)).p - run.q for _ in range(3)]).tolist():
            state = state.after(difference)
            values.append(state.value)
        reached.append(max(values) >= 20)
    assert np.mean(reached) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 40)


def nights_until_drift(rng: np.random.Generator, shift: float, lost: float) -> tuple[int, int]:
    """By the mean difference, and by p-values; 31 where a month is too short."""
    mean, p_values = DifferenceProcess.start(0.0, 30 * 120), PValueProcess.start(30)
    first = [31, 31]
    for count in range(1, 31):
        run = night(rng, shift, lost)
        for difference in (run.p - run.q).tolist():
            mean = mean.after(difference)
        test = trigger_test(run)
        assert test is not None
        p_values = p_values.after(test.p)
        reached = (mean.value >= 1_000, p_values.value >= 1_000)
        first = [min(known, count) if there else known for known, there in zip(first, reached, strict=True)]
    return first[0], first[1]


@pytest.mark.parametrize(("shift", "lost"), [(-0.25, 0.0), (0.0, 0.02)])
def test_faults_too_small_for_one_run_are_found_within_a_month(shift: float, lost: float) -> None:
    rng = np.random.default_rng(0)
    by_mean, by_p = np.median([nights_until_drift(rng, shift, lost) for _ in range(7)], axis=0)
    assert by_p <= 25
    # A few lost prompts leave the mean where it was.
    assert (by_mean <= 15) == (shift != 0.0)


def test_evidence_starts_anew() -> None:
    state = DifferenceProcess.start(0.01, 100)
    assert state.value == 1.0
    for _ in range(100):
        state = state.after(-1.0)
    assert state.value > 1e9
    assert DifferenceProcess.start(0.01, 100).value == 1.0


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
