"""Log-odds between two requested temperatures: raw or processed, and a factor that is watched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.evidence import Inapplicable, Null, Scores, StreamKey, Tier
from monitor.drift.observation import FloatArray
from monitor.drift.request_temperature import LogprobsMode, Pair, logprobs_mode, of_factors
from tests.monitor.drift.listed_draws import falling, tempered

STREAM = StreamKey("e1", Tier.SAMPLING, "factors-1")
TOP = 20


def said(temperature: float, entropy: float = 2.8, noise: float = 0.0, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.asarray(np.log(tempered(falling(entropy), temperature)[:TOP]) + rng.normal(0.0, noise, TOP))


def asked(served: float, noise: float = 0.0, seed: int = 0) -> Pair:
    """At 1 and at 0.5, where the second was served at another temperature."""
    return Pair(said(1.0, noise=noise, seed=seed), said(served, noise=noise, seed=seed + 1), (1.0, 0.5))


def score(pair: Pair) -> float:
    says = of_factors(STREAM, 60.0, [pair]).says
    assert isinstance(says, Scores)
    return says.mean


@given(st.floats(0.3, 2.0), st.floats(0.3, 2.0), st.floats(-3.0, 3.0))
def test_the_factor_is_that_of_the_temperatures_whatever_the_normaliser(one: float, other: float, by: float) -> None:
    pair = Pair(said(one), said(other) + by, (one, other))
    assert pair.factor == pytest.approx(one / other)
    assert pair.asked == one / other


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_whether_log_probabilities_move_with_the_temperature(noise: float) -> None:
    raw = [asked(1.0, noise, seed) for seed in range(0, 8, 2)]
    processed = [asked(0.5, noise, seed) for seed in range(0, 8, 2)]
    assert logprobs_mode(raw) is LogprobsMode.RAW
    assert logprobs_mode(processed) is LogprobsMode.PROCESSED
    assert logprobs_mode([asked(0.72)]) is LogprobsMode.UNCLEAR


def test_the_mode_needs_temperatures_that_differ_and_tokens_in_common() -> None:
    with pytest.raises(ValueError, match=r"at 1 and at 0\.5"):
        logprobs_mode([Pair(said(1.0), said(1.0), (1.0, 0.9))])
    nothing = Pair(said(1.0), np.full(TOP, np.nan), (1.0, 0.5))
    assert nothing.factor is None
    assert logprobs_mode([nothing]) is LogprobsMode.UNCLEAR
    assert Pair(np.full(TOP, -3.0), said(1.0)).factor is None


def test_a_temperature_that_is_served_as_asked_scores_nothing() -> None:
    assert score(asked(0.5)) == pytest.approx(0.0, abs=1e-9)
    assert np.mean([score(asked(0.5, 0.03, seed)) for seed in range(0, 40, 2)]) < 0.1


@pytest.mark.parametrize(("served", "least"), [(1.0, 1.0), (0.6, 0.8), (0.55, 0.4), (0.45, 0.4)])
def test_one_that_is_ignored_bounded_or_moved_scores_by_how_far(served: float, least: float) -> None:
    assert score(asked(served)) >= least


def test_one_that_is_multiplied_shows_against_enrolment_alone() -> None:
    between = Pair(said(0.9), said(0.45), (1.0, 0.5))
    assert score(between) == pytest.approx(0.0, abs=1e-9)
    assert score(Pair(said(1.0), said(0.9))) == pytest.approx(np.log(1 / 0.9) / np.log(1.25))


def test_a_round_is_scores_against_the_lawful_mean() -> None:
    found = of_factors(STREAM, 60.0, [asked(0.5), asked(0.6), Pair(said(1.0), np.full(TOP, np.nan))], tokens=70)
    assert isinstance(found.says, Scores)
    assert found.says.null is Null.LAWFUL_MEAN
    assert (len(found.says.scores), found.n, found.tokens) == (2, 2, 70)
    assert "factor of 1." in found.reasons[0]
    none = of_factors(STREAM, 60.0, [Pair(said(1.0), np.full(TOP, np.nan))])
    assert isinstance(none.says, Inapplicable)
