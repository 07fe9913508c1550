from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.sequential import (
    AverageProcess,
    DifferenceProcess,
    EProcess,
    PValueProcess,
    RunLengthProcess,
)
from monitor.drift.trigger import Paired, trigger_test


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


@settings(max_examples=25)
@given(st.lists(st.floats(0.0, 1e6), max_size=20), st.integers(1, 12))
def test_an_average_only_grows_and_needs_no_independence(factors: list[float], horizon: int) -> None:
    state = AverageProcess.start(horizon)
    for factor in factors:
        before, state = state, state.after(factor)
        assert state.value >= before.value
    assert state.value == pytest.approx(sum(factors[:horizon]) / horizon)


def test_a_run_length_process_lasts_as_long_as_it_says() -> None:
    rng = np.random.default_rng(0)
    lengths = []
    for _ in range(60):
        state, rounds = RunLengthProcess.start(0.3), 0
        while state.value < 30.0 and rounds < 600:
            state, rounds = state.after(float(rng.random() < 0.3)), rounds + 1
        lengths.append(rounds)
    assert np.mean(lengths) >= 30.0
    state = RunLengthProcess.start(0.3)
    for _ in range(6):
        state = state.after(1.0)
    assert state.value >= 30.0
