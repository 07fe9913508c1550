"""Noise is found again in answers that were made with it."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.drift.levels import DAY
from monitor.drift.response_noise import DAILY, LEAST, Answers, ResponseNoise, days_of, response_noise
from tests.monitor.drift.synthetic import World


def runs(noise: float, count: int = 5, *, apart: float = 900.0, seed: int = 0) -> list[Answers]:
    world = World(seed, noise)
    return [Answers(place * apart, world.run("bf16")) for place in range(count)]


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.06])
def test_its_deviation_and_what_a_response_shares_are_found_again(noise: float) -> None:
    found = response_noise(runs(noise))
    assert found is not None
    assert found.deviation == pytest.approx(noise, rel=0.12)
    assert found.common == pytest.approx(0.5, abs=0.12)


def test_what_runs_differ_by_is_noise_too() -> None:
    """Each run has the log-probabilities of another stack."""
    world = World(0, 0.01)
    mixed = [Answers(place * 900.0, world.run(stack)) for place, stack in enumerate(["bf16", "fp8-e4m3"] * 3)]
    found, still = response_noise(mixed), response_noise(runs(0.01))
    assert found is not None
    assert still is not None
    assert found.deviation > 3.0 * still.deviation


def test_it_is_in_nats() -> None:
    once, twice = response_noise(runs(0.02)), response_noise(runs(0.04))
    assert once is not None
    assert twice is not None
    assert twice.deviation == pytest.approx(2.0 * once.deviation, rel=0.15)


def test_answers_that_are_equal_differ_by_printed_digits() -> None:
    found = response_noise(runs(0.0))
    assert found is not None
    assert found.deviation == LEAST


def test_days_are_known_from_the_seventh_on() -> None:
    six, seven = runs(0.03, 6, apart=DAY), runs(0.03, 7, apart=DAY)
    assert (days_of(six), days_of(seven)) == (6, 7)
    few, enough = response_noise(six), response_noise(seven)
    assert few is not None
    assert enough is not None
    assert few.daily == DAILY
    assert 0.0 <= enough.daily < DAILY


def test_days_that_differ_are_seen() -> None:
    factors = np.exp(0.5 * np.random.default_rng(0).standard_normal(40))
    days = [Answers(day * DAY, World(day, 0.03 * factor).run("bf16")) for day, factor in enumerate(factors.tolist())]
    found = response_noise(days)
    assert found is not None
    assert found.daily == pytest.approx(0.5, abs=0.12)


def test_nothing_is_said_of_prompts_that_were_answered_once() -> None:
    world = World(0)
    assert response_noise([]) is None
    assert response_noise([Answers(0.0, world.run("bf16", anchors=0))]) is None
    assert response_noise([Answers(0.0, world.run("bf16")[:10])]) is None


@pytest.mark.parametrize("wrong", [{"deviation": 0.0}, {"common": 1.1}, {"daily": -0.1}, {"deviation": float("nan")}])
def test_what_cannot_be_noise_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="deviation above 0"):
        ResponseNoise(**wrong)
