"""A new baseline against the first one for ever: levels of scores, and enrolled log-probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from monitor.drift.fingerprint import EnrolledPrompt, Enrolment
from monitor.drift.first_baseline import (
    ALPHA,
    AgainstFirst,
    LevelMove,
    MeansMove,
    level_move,
    means_move,
    share_of_error,
)
from monitor.drift.interval import Interval
from monitor.drift.levels import DAY
from monitor.drift.observation import FloatArray
from monitor.drift.score_stream import Round
from tests.monitor.drift.rounds import days_of

PROMPTS, TOKENS = 8, 12
MARKS = {"bf16": 0.045, "w8-channel": 0.071, "fp8-e4m3": 0.154}


def rounds_of(days: FloatArray | list[float], first: int = 20_000) -> list[Round]:
    """Whole days of these means, every hour the same."""
    return [
        Round((first + day) * DAY + hour * 3_600.0, float(score))
        for day, score in enumerate(days)
        for hour in range(24)
    ]


def enrolled(moved: FloatArray, *, noise: float = 0.02, first: float = 20_000.0, days: int = 14) -> Enrolment:
    """moved: nats, shape [prompts, tokens]."""
    tokens = tuple(bytes([token]) for token in range(moved.shape[1]))
    prompts = tuple(
        EnrolledPrompt(f"p{at}", tokens, tuple((row - 3.0).tolist()), moved.shape[1], 24 * days, 0.2, noise, None, None)
        for at, row in enumerate(moved)
    )
    return Enrolment(prompts, first * DAY, (first + days) * DAY - 1.0)


def directions(seed: int, nats: float) -> FloatArray:
    """A move of so much on average, of each prompt in a direction of its own."""
    found = np.random.default_rng(seed).standard_normal((PROMPTS, TOKENS))
    return np.asarray(found * nats / np.abs(found).mean())


STILL = enrolled(np.zeros((PROMPTS, TOKENS)))
days_strategy = st.lists(st.floats(0.01, 0.6), min_size=3, max_size=14).map(np.array)


def test_all_comparisons_for_ever_share_one_error() -> None:
    shares = [share_of_error(k) for k in range(1, 10_000)]
    assert sum(shares) < ALPHA
    assert sum(shares) == pytest.approx(ALPHA, rel=1e-3)
    with pytest.raises(ValueError, match="counted from 1"):
        share_of_error(0)


@settings(max_examples=50, deadline=None)
@given(days_strategy, days_strategy, st.floats(0.0, 0.1))
def test_levels_are_compared_by_students_t_of_days(first: FloatArray, now: FloatArray, margin: float) -> None:
    # Days that are all alike are no matter for scipy's.
    assume(min(np.ptp(first), np.ptp(now)) > 1e-3)
    found = level_move(rounds_of(first), rounds_of(now, 20_400), margin=margin)
    assert found is not None
    told = stats.ttest_ind(now - margin, first, alternative="greater")
    both = stats.ttest_ind(now, first).confidence_interval(0.95)
    assert found.p == pytest.approx(told.pvalue, rel=1e-6, abs=1e-12)
    assert (found.interval.low, found.interval.high) == pytest.approx((both.low, both.high), abs=1e-9)
    assert found.value == pytest.approx(now.mean() - first.mean())
    assert found.days == (first.size, now.size)


@settings(max_examples=30, deadline=None)
@given(days_strategy, days_strategy, st.floats(0.0, 0.2))
def test_a_higher_level_is_likelier_to_be_told_and_the_other_way_round_it_is_lower(
    first: FloatArray, now: FloatArray, more: float
) -> None:
    one, higher, back = (
        level_move(rounds_of(before), rounds_of(after, 20_400), margin=0.0)
        for before, after in ((first, now), (first, now + more), (now, first))
    )
    assert one is not None
    assert higher is not None
    assert back is not None
    assert higher.p <= one.p + 1e-12
    assert back.value == pytest.approx(-one.value)
    assert back.p == pytest.approx(1.0 - one.p, abs=1e-6)


def test_of_too_few_whole_days_nothing_is_said() -> None:
    first = rounds_of([0.1] * 14)
    assert level_move(first, [], margin=0.02) is None
    assert level_move(first, rounds_of([0.3, 0.3]), margin=0.02) is None
    # Half a day is no day.
    assert level_move(first, rounds_of([0.3, 0.3, 0.3])[:-12], margin=0.02) is None
    assert level_move(first, rounds_of([0.3, 0.3, 0.3]), margin=0.02) is not None


def test_days_that_do_not_differ_at_all_are_told_apart_beyond_the_margin_only() -> None:
    first = rounds_of([0.1] * 14)
    p = [getattr(level_move(first, rounds_of([0.1 + more] * 14), margin=0.02), "p", None) for more in (0.019, 0.021)]
    assert p == pytest.approx([1.0, 0.0], abs=1e-12)


def test_a_settled_baseline_of_three_days_can_be_compared() -> None:
    rng = np.random.default_rng(0)
    found = level_move(days_of(rng, 14), days_of(rng, 3, first=20_100, moved=0.5), margin=0.02)
    assert found is not None
    assert found.p <= share_of_error(1)


def test_the_same_enrolment_is_nowhere() -> None:
    found = means_move(STILL, enrolled(np.zeros((PROMPTS, TOKENS)), first=20_100.0))
    assert found is not None
    assert (found.value, found.p) == (0.0, 1.0)
    assert found.reading(MARKS).text.startswith("below noise")


@pytest.mark.parametrize("nats", [0.03, 0.071, 0.154])
def test_a_move_is_told_in_nats_and_on_the_ruler(nats: float) -> None:
    found = means_move(STILL, enrolled(directions(0, nats), first=20_100.0))
    assert found is not None
    assert found.value == pytest.approx(nats, rel=0.05)
    assert found.interval.low <= nats <= found.interval.high + 1e-9
    assert found.p <= share_of_error(1)
    assert found.reading(MARKS).text.startswith(f"about {nats / 0.071:.2g}")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.3), st.permutations(range(PROMPTS)))
def test_neither_the_order_of_prompts_nor_which_is_the_first_matters(seed: int, nats: float, order: list[int]) -> None:
    moved = enrolled(directions(seed, nats), first=20_100.0)
    one, back = means_move(STILL, moved), means_move(moved, STILL)
    shuffled = tuple(moved.prompts[at] for at in order)
    again = means_move(STILL, replace(moved, prompts=shuffled))
    assert one is not None
    for other in (back, again):
        assert other is not None
        assert (other.value, other.p) == pytest.approx((one.value, one.p))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.001, 0.3), st.floats(1.0, 3.0))
def test_the_same_move_enlarged_is_larger(seed: int, nats: float, times: float) -> None:
    step = directions(seed, nats)
    one, more = (means_move(STILL, enrolled(scale * step, first=20_100.0)) for scale in (1.0, times))
    assert one is not None
    assert more is not None
    assert more.value >= one.value - 1e-12
    assert more.p <= one.p + 1e-9


def test_what_a_days_answers_share_is_lawful() -> None:
    """A move of 0.02 nat is more than what kernels make, and with loud days no more than what days make."""
    step = directions(1, 0.02)
    quiet, loud = (means_move(enrolled(0.0 * step, noise=n), enrolled(step, noise=n)) for n in (0.002, 0.1))
    assert quiet is not None
    assert loud is not None
    assert quiet.p <= share_of_error(1)
    assert loud.p > 0.5
    assert loud.interval.low == 0.0


def test_only_prompts_and_tokens_that_both_have_are_compared() -> None:
    moved = enrolled(directions(0, 0.1))
    named = tuple(replace(one, prompt=f"other {one.prompt}") for one in moved.prompts)
    assert means_move(STILL, replace(moved, prompts=named)) is None
    assert means_move(STILL, replace(moved, prompts=moved.prompts[:2])) is None
    foreign = tuple(replace(one, tokens=tuple(b"x" + token for token in one.tokens)) for one in moved.prompts[:5])
    found = means_move(STILL, replace(moved, prompts=(*foreign, *moved.prompts[5:])))
    assert found is not None
    assert found.prompts == 3


def test_what_is_told_names_both_and_shares_the_error_between_them() -> None:
    level = LevelMove(0.1, 0.2, 0.1, Interval(0.05, 0.15), 0.02, 0.004, (14, 14))
    means = MeansMove(0.071, Interval(0.06, 0.08), 0.01, 0.5, 8)
    alone = AgainstFirst(1, level, 0.0, None, None)
    assert (alone.alpha, alone.told) == (0.005, True)
    both = AgainstFirst(1, level, 0.0, means, 0.0)
    assert (both.alpha, both.told) == (0.0025, False)
    assert AgainstFirst(1, level, 0.0, replace(means, p=0.0), 0.0).told
    assert AgainstFirst(2, level, 0.0, None, None).told is False
    assert str(alone).startswith("it has moved since the first baseline (comparison 1, α 0.005): mean score 0.100 then")
    assert "log-probabilities 0.071 nat away (0.060 to 0.080; p 0.5): about 1.0 times what int8 would make" in str(both)
    assert str(both).startswith("no move since the first baseline is shown")
