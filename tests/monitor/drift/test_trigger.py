from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.trigger import Paired, f1, gap, prompt_test, rate_test, self_f1, trigger_test


@st.composite
def pairs(draw: st.DrawFn, most: int = 6) -> Paired:
    counts = draw(st.lists(st.tuples(*(st.integers(0, most) for _ in range(4))), min_size=1, max_size=12))
    x, r_x, y, r_y = (list(column) for column in zip(*counts, strict=True))
    return Paired.of(np.minimum(x, r_x), r_x, np.minimum(y, r_y), r_y)


def resplit(paired: Paired, rng: np.random.Generator) -> Paired:
    called = paired.x + paired.y
    x = rng.hypergeometric(called, paired.r_x + paired.r_y - called, paired.r_x)
    return Paired.of(x, paired.r_x, called - x, paired.r_y)


def test_a_prompt_one_side_never_answered_is_not_compared() -> None:
    paired = Paired.of([3, 0, 2], [5, 0, 5], [3, 4, 0], [5, 5, 0])
    assert len(paired) == 1
    assert trigger_test(Paired.of([0], [0], [1], [5])) is None


@pytest.mark.parametrize(("x", "r"), [(6, 5), (-1, 5)])
def test_counts_that_cannot_be_are_refused(x: int, r: int) -> None:
    with pytest.raises(ValueError, match="successes"):
        Paired.of([x], r, [0], r)


@settings(max_examples=50, deadline=None)
@given(pairs())
def test_sides_may_be_exchanged(paired: Paired) -> None:
    swapped = Paired.of(paired.y, paired.r_y, paired.x, paired.r_x)
    one, other = trigger_test(paired), trigger_test(swapped)
    if one is None or other is None:
        assert one is other
        return
    assert 0.0 < one.p <= 1.0
    assert one.p == pytest.approx(other.p, rel=1e-6)
    assert one.difference == pytest.approx(-other.difference)
    assert one.gap == pytest.approx(other.gap)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1_000), st.integers(2, 8))
def test_the_prompt_test_is_the_permutation_test_of_the_mmd(seed: int, r: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.4, 0.4, 30)
    paired = Paired.of(rng.binomial(r, p), r, rng.binomial(r, p), r)
    seen = gap(paired)
    again = np.array([gap(resplit(paired, rng)) for _ in range(200)])
    share = float((again >= seen - 1e-9).mean())
    assert prompt_test(paired) == pytest.approx(share, abs=4.5 * np.sqrt(max(share * (1 - share), 0.005) / 200))


def test_unequal_numbers_of_answers_are_dealt_as_they_are() -> None:
    # One prompt, 1 call of 1 answer against 0 of 3: the four answers hold the call in one of four places.
    assert prompt_test(Paired.of([1], [1], [0], [3])) == pytest.approx(1 / 4)
    # And beside it one with 0 of 1 against 3 of 3, whose answer without a call has four places too.
    assert prompt_test(Paired.of([1, 0], [1, 1], [0, 3], [3, 3])) == pytest.approx(1 / 16)


def test_the_rate_test_is_the_paired_t_test() -> None:
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(3)
    p = rng.beta(0.4, 0.4, 40)
    paired = Paired.of(rng.binomial(8, p * 0.9), 8, rng.binomial(8, p), 8)
    mean, found = rate_test(paired)
    assert mean == pytest.approx(float((paired.x - paired.y).mean()) / 8)
    assert found == pytest.approx(float(ttest_rel(paired.x, paired.y).pvalue))


def test_no_p_value_says_more_than_the_prompts_can() -> None:
    assert rate_test(Paired.of([8] * 5, 8, [0] * 5, 8)) == (1.0, 2.0**-4)
    assert rate_test(Paired.of([8], 8, [0], 8)) == (1.0, 1.0)
    assert rate_test(Paired.of([4] * 5, 8, [4] * 5, 8)) == (0.0, 1.0)


def test_prompts_weigh_as_their_answers() -> None:
    mean, _ = rate_test(Paired.of([8, 0], [8, 1], [0, 1], [8, 1]))
    assert mean == pytest.approx((4.0 - 0.5) / 4.5)


@pytest.mark.parametrize("drop", [0.0, 0.3])
def test_unchanged_endpoints_are_called_no_more_often_than_said(drop: float) -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(150):
        p = rng.beta(0.43, 0.45, 60)
        r_x, r_y = rng.binomial(8, 1 - drop, (2, 60))
        test = trigger_test(Paired.of(rng.binomial(r_x, p), r_x, rng.binomial(r_y, p), r_y))
        assert test is not None
        found.append((test.rate_p, test.prompt_p, test.p))
    for share in (np.array(found) <= 0.1).mean(axis=0):
        assert share <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 150)


def test_the_gap_is_nil_on_average_while_nothing_changed() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(50)
    gaps = [gap(Paired.of(rng.binomial(5, p), 5, rng.binomial(8, p), 8)) for _ in range(2_000)]
    assert np.mean(gaps) == pytest.approx(0.0, abs=4 * np.std(gaps) / np.sqrt(2_000))


def test_f1_counts_every_pair_of_answers() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 2, (20, 5)), rng.integers(0, 2, (20, 3))
    hits = sum(int(a[i] and b[j]) for a, b in zip(x, y, strict=True) for i in range(5) for j in range(3))
    differ = sum(int(a[i] != b[j]) for a, b in zip(x, y, strict=True) for i in range(5) for j in range(3))
    assert f1(Paired.of(x.sum(axis=1), 5, y.sum(axis=1), 3)) == pytest.approx(2 * hits / (2 * hits + differ))


def test_the_reference_agrees_with_itself_as_two_runs_of_it_do() -> None:
    rng = np.random.default_rng(4)
    p = rng.beta(0.434, 0.453, 4_000)
    x, y = rng.binomial(8, p), rng.binomial(8, p)
    own, between = self_f1(y, 8), f1(Paired.of(x, 8, y, 8))
    assert own == pytest.approx(0.76, abs=0.02)
    assert own == pytest.approx(between, abs=0.01)
    # Always calling a tool scores this much.
    assert f1(Paired.of(np.full(4_000, 8), 8, y, 8)) == pytest.approx(0.657, abs=0.01)


def test_there_is_no_f1_of_nobody_calling() -> None:
    assert f1(Paired.of([0, 0], 5, [0, 0], 5)) is None
    assert self_f1([0, 0], 5) is None
    assert self_f1([1, 0], 1) is None
