from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.border import Screened, balance, broader_p, ignores_temperature, most_balanced, screened, tightest
from monitor.drift.evidence import Inapplicable
from monitor.drift.resplit import IntArray


def found(firsts: list[list[int]]) -> Screened:
    screen = screened(np.array(firsts))
    assert isinstance(screen, Screened), screen
    return screen


def drawn(rng: np.random.Generator, shares: list[list[float]], asks: int) -> IntArray:
    return np.array([rng.multinomial(asks, row) for row in shares], dtype=np.int64)


def test_the_tightest_prompts_are_proposed_and_unknown_ones_are_not() -> None:
    gaps = np.array([0.3, np.nan, 0.0, 0.01, np.inf, 0.01])
    assert tightest(gaps).tolist() == [2, 3, 5, 0]
    assert tightest(gaps, 2).tolist() == [2, 3]
    with pytest.raises(ValueError, match="never negative"):
        tightest(np.array([0.1, -0.2]))


@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=50), st.integers(1, 50))
def test_none_that_is_left_out_is_tighter(gaps: list[float], most: int) -> None:
    values = np.array(gaps)
    kept = tightest(values, most)
    assert len(kept) == min(most, len(gaps))
    assert values[kept].max() <= np.delete(values, kept).min(initial=np.inf)


def test_prompts_whose_answers_differ_are_candidates() -> None:
    screen = found([[1, 1, 2], [3, 3, 3], [4, -1, 4], [5, -1, 6], [7, -1, -1]])
    assert screen.varied.tolist() == [0, 3]
    # Of one answer nobody can tell.
    assert screen.prevalence == 0.5
    assert screen.common
    assert not found([[1, 1, 2], [3, 3, 3], [4, 4, 4], [5, 5, 5]]).common


def test_no_more_candidates_than_are_to_be_asked() -> None:
    screen = screened(np.array([[1, 2, 1]] * 60 + [[3, 3, 3]] * 240), most=50)
    assert isinstance(screen, Screened)
    assert screen.varied.tolist() == list(range(50))
    assert screen.prevalence == 0.2


@pytest.mark.parametrize(
    ("firsts", "reason"),
    [
        ([[7, 7, 7], [7, -1, 7]], "same token, as those of reasoning models do"),
        ([[7, 7, 7], [8, 8, 8]], "none of 2 prompts varies"),
        ([[-1, -1, -1]], "no answer had a first token"),
    ],
)
def test_endpoints_without_border_inputs_are_inapplicable(firsts: list[list[int]], reason: str) -> None:
    screen = screened(np.array(firsts))
    assert isinstance(screen, Inapplicable)
    assert reason in screen.reason


def test_screening_takes_three_answers() -> None:
    with pytest.raises(ValueError, match="3 answers"):
        screened(np.array([[1, 2]]))


NEAR_TIES = [[0.6, 0.4, 0.0, 0.0, 0.0, 0.0]] * 12
DRAWN = [[0.3, 0.25, 0.15, 0.1, 0.1, 0.1]] * 12


def test_an_endpoint_that_ignores_temperature_is_inapplicable() -> None:
    rng = np.random.default_rng(0)
    common = Screened(np.arange(12), 0.8)
    ignoring = ignores_temperature(common, drawn(rng, DRAWN, 20), drawn(rng, DRAWN, 20))
    assert isinstance(ignoring, Inapplicable)
    assert "80%" in ignoring.reason
    assert ignores_temperature(common, drawn(rng, NEAR_TIES, 20), drawn(rng, DRAWN, 20)) is None


def test_where_few_prompts_vary_temperature_need_not_be_shown() -> None:
    nothing = np.zeros((1, 2), dtype=np.int64)
    assert ignores_temperature(Screened(np.arange(3), 0.3), nothing, nothing) is None
    assert ignores_temperature(Screened(np.arange(3), 0.31), nothing, nothing) is not None


def test_p_of_being_broader_is_valid_and_one_sided() -> None:
    rng = np.random.default_rng(1)
    p = np.array([broader_p(drawn(rng, DRAWN[:6], 8), drawn(rng, DRAWN[:6], 8), seed=n) for n in range(200)])
    for alpha in (0.05, 0.2):
        assert np.mean(p <= alpha) <= alpha + 3.0 * np.sqrt(alpha * (1.0 - alpha) / 200)
    assert np.mean(p <= 0.5) >= 0.3
    narrower = broader_p(drawn(rng, DRAWN, 20), drawn(rng, NEAR_TIES, 20))
    assert narrower > 0.9
    with pytest.raises(ValueError, match="same prompts"):
        broader_p(np.zeros((2, 3), dtype=np.int64), np.zeros((2, 4), dtype=np.int64))


def test_the_most_balanced_are_kept_and_those_that_never_vary_are_not() -> None:
    counts = np.array([[90, 10, 0], [0, 55, 45], [100, 0, 0], [70, 15, 15]])
    assert balance(counts) == pytest.approx([10 / 90, 45 / 55, 0.0, 15 / 70])
    assert most_balanced(counts).tolist() == [1, 3, 0]
    assert most_balanced(counts, 1).tolist() == [1]
    assert balance(np.array([[5]])).tolist() == [0.0]
