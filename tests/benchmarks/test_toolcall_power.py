"""The trigger tests keep the power and the false alarms they were designed to."""

from __future__ import annotations

import pytest

from benchmarks.toolcall_power import Figure, alone, population, simulate, staged

SIZE = (120, 8)


def test_the_population_has_the_published_rate_and_self_f1() -> None:
    a, b = population()
    assert a / (a + b) == pytest.approx(1958 / 4000)
    assert (a + 1) / (a + b + 1) == pytest.approx(0.76)


@pytest.mark.parametrize("fault", ["logit −.5", "10 % never call"])
def test_each_test_sees_what_it_is_for(fault: str) -> None:
    figures = [*alone(SIZE, fault, 150, seed=0), *staged(SIZE, fault, 150, seed=1)]
    assert not [figure for figure in figures if figure.out_of_error]


def test_a_thousand_unchanged_windows_stay_silent() -> None:
    screen, confirmed = staged(SIZE, "none", 1_000, seed=0)
    assert screen.called <= 31
    assert confirmed.called <= 1


def test_another_figure_is_out_of_its_error() -> None:
    assert not Figure(SIZE, "none", "rate", called=40, runs=4_000, design=0.01).out_of_error
    assert Figure(SIZE, "none", "rate", called=400, runs=4_000, design=0.01).out_of_error
    assert Figure(SIZE, "logit −.5", "rate", called=3_000, runs=4_000, design=0.85).out_of_error


@pytest.mark.soak
def test_every_figure_of_the_design() -> None:
    sizes = [(60, 8), SIZE, (200, 5), (200, 8)]
    assert not [figure for figure in simulate(sizes, 4_000, seed=0) if figure.out_of_error]
