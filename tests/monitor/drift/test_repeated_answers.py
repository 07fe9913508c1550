"""Distances and likelihoods of repeated answers: as sums written out, at their level, and what they see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.simulated.texts import model, noisy, rows, same, sides, tempered
from monitor.drift.answers import Answers, Sides, cut
from monitor.drift.dealt_answers import Pooled
from monitor.drift.greedy_divergence import NO_TOKEN
from monitor.drift.repeated_answers import (
    agreements,
    compare,
    difference,
    equals,
    more_equal,
    squared_distance,
)
from monitor.drift.resplit import IntArray

TOKENS = arrays(np.int64, (7, 4), elements=st.integers(NO_TOKEN, 2))
# Two prompts: three answers of the endpoint and one of the reference, then one and two.
POOLED = Pooled.of(np.array([0, 0, 0, 1]), np.array([1, 0, 1]))


def agreeing(one: IntArray, other: IntArray) -> int:
    return sum(int(a == b and a != NO_TOKEN) for a, b in zip(one, other, strict=True))


@given(TOKENS)
@settings(max_examples=50, deadline=None)
def test_distance_is_the_mean_within_less_that_across(ids: IntArray) -> None:
    value = float(squared_distance(POOLED.seen, agreements(ids, POOLED), POOLED)[0])
    # The first prompt's answers are 0, 1, 2 and the reference's 5; the second's are 3, and 4 and 6.
    first = (agreeing(ids[0], ids[1]) + agreeing(ids[0], ids[2]) + agreeing(ids[1], ids[2])) / 3
    first -= 2 * sum(agreeing(ids[at], ids[5]) for at in (0, 1, 2)) / 3
    second = agreeing(ids[4], ids[6]) - (agreeing(ids[3], ids[4]) + agreeing(ids[3], ids[6]))
    assert value == pytest.approx((first + second) / 2)


@given(TOKENS)
@settings(max_examples=50, deadline=None)
def test_agreements_are_symmetric_and_a_kernel(ids: IntArray) -> None:
    found = agreements(ids, POOLED)
    assert np.array_equal(found, found.transpose(0, 2, 1))
    own = (np.where(POOLED.places[..., None] < 0, NO_TOKEN, ids[POOLED.places]) != NO_TOKEN).sum(axis=-1)
    whole = found + np.eye(4) * own[:, :, None]
    assert np.linalg.eigvalsh(whole).min() >= -1e-9


def test_padding_agrees_with_nothing() -> None:
    ids = np.array([[5, NO_TOKEN], [5, NO_TOKEN], [NO_TOKEN, NO_TOKEN], [NO_TOKEN, NO_TOKEN]])
    pooled = Pooled.of(np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64))
    found = agreements(ids, pooled)[0]
    assert found.sum() == 2.0
    assert found[0, 1] == 1.0
    assert equals(ids, pooled)[0].sum() == 2.0
    wide = np.pad(ids, ((0, 0), (0, 9)), constant_values=NO_TOKEN)
    assert np.array_equal(agreements(wide, pooled)[0], found)


def test_answers_are_equal_where_all_tokens_are() -> None:
    ids = np.array([[5, 6], [5, NO_TOKEN], [5, 6], [5, 7]])
    found = equals(ids, Pooled.of(np.zeros(3, dtype=np.int64), np.zeros(1, dtype=np.int64)))[0]
    assert (found[0, 2], found[2, 0], found.sum()) == (1.0, 1.0, 2.0)


def test_difference_of_likelihoods_is_paired_by_prompt() -> None:
    values = np.array([[1.0, 2.0, 6.0, 10.0], [7.0, 1.0, 2.0, 0.0]])
    assert float(difference(POOLED.seen, values, POOLED)[0]) == pytest.approx(((3.0 - 10.0) + (7.0 - 1.5)) / 2)


def test_the_share_of_equal_pairs_is_the_endpoints_less_the_references() -> None:
    kernel = equals(np.array([[5], [5], [6], [7], [8], [9], [8]]), POOLED)
    # One of three pairs of the first prompt; none of the endpoint's and the one of the reference's of the second.
    assert float(more_equal(POOLED.seen, kernel, POOLED)[0]) == pytest.approx((1 / 3 - 1.0) / 2)


def p_of(found: Sides, seed: int, draws: int = 199) -> tuple[float, float, float]:
    told = compare(found, np.random.default_rng(seed), draws)
    return told.distance.p, told.moved.p, told.copies.p


def test_false_alarms_are_as_rare_as_is_said() -> None:
    """Of prompts that differ, with fewer answers to some of them."""
    of, p = model(10, seed=2), []
    for seed in range(300):
        found = sides(10, 4, 5, seed=seed, of=of, tokens=12)
        kept = np.flatnonzero(np.random.default_rng(seed).random(40) < 0.8)
        p.append(p_of(Sides(rows(found.endpoint, kept), found.reference), seed))
    for level in (0.01, 0.05, 0.2):
        rates = (np.array(p) <= level).mean(axis=0)
        assert (rates <= level + 3 * np.sqrt(level * (1 - level) / 300)).all()


def test_a_lower_temperature_and_coarse_weights_are_seen() -> None:
    colder = compare(sides(25, 10, 10, seed=3, change=tempered(0.9)), np.random.default_rng(3), 1_999)
    assert colder.moved.p <= 0.001
    assert colder.moved.value < 0.0
    assert colder.moved_words.split(" likely")[0].endswith("more")
    coarse = compare(sides(25, 10, 10, seed=4, change=noisy(1.0)), np.random.default_rng(4), 1_999)
    assert coarse.moved.p <= 0.001
    assert coarse.moved.value > 0.0
    coarser = compare(sides(25, 10, 10, seed=4, change=noisy(2.0)), np.random.default_rng(4), 1_999)
    assert coarser.distance.p <= 0.001


def test_a_distance_sees_what_is_as_likely_as_before() -> None:
    """Chances of the likeliest tokens change places: no answer is less likely for it, on average."""
    of = model(25, seed=5)
    swapped = replace(of, logits=of.logits[:, :, ::-1].copy())
    swapped.logits[:, :, -1] = of.logits[:, :, -1]
    rng = np.random.default_rng(5)
    prompts = np.repeat(np.arange(25), 10)
    found = sides(25, 10, 10, seed=5, of=of)
    other = Answers(prompts, swapped.drawn(prompts, 30, rng), *flat(found))
    told = compare(Sides(other, found.reference), rng, 1_999)
    assert told.distance.p <= 0.001


def flat(found: Sides) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Likelihoods of no telling: 0 nat and the first rank, of as many tokens."""
    shape = found.endpoint.ids.shape
    return np.zeros(shape), np.zeros(shape, dtype=np.int64), found.endpoint.ids


def test_the_further_the_change_the_larger_the_distance() -> None:
    of = model(25, seed=6)
    values = []
    for deviation in (0.0, 0.7, 1.5, 3.0):
        change = noisy(deviation) if deviation else same
        values.append(compare(sides(25, 10, 10, seed=6, change=change, of=of), np.random.default_rng(6), 9))
    distances = [told.distance.value for told in values]
    assert distances == sorted(distances)
    assert [told.moved.value for told in values] == sorted(told.moved.value for told in values)


def test_prompts_that_differ_from_each_other_hide_no_shift() -> None:
    """Prompts lie 3 nats apart, the shift is 0.2: dealt across prompts, the answers would bury it."""
    found = sides(12, 6, 6, seed=7, of=model(12, seed=7, ends=-20.0))
    rng, p = np.random.default_rng(7), []
    for shift in (0.0, 0.2):
        level = 1.0 + 3.0 * np.arange(12)
        moved = [with_nll(side, level, by, rng) for side, by in ((found.endpoint, shift), (found.reference, 0.0))]
        p.append(compare(Sides(*moved), np.random.default_rng(7), 1_999).moved.p)
    assert p[0] > 0.05
    assert p[1] <= 0.001


def test_prompts_of_which_the_sides_have_other_shares_are_no_shift() -> None:
    """The endpoint answers easy prompts more often, the reference hard ones: dealt across, that would be a change."""
    alarms = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        found = sides(10, 6, 6, seed=seed, tokens=8)
        ours = np.flatnonzero((found.endpoint.prompts < 5) | (np.arange(60) % 6 == 0))
        theirs = np.flatnonzero((found.reference.prompts >= 5) | (np.arange(60) % 6 == 0))
        level = np.where(np.arange(10) < 5, 1.0, 9.0)
        moved = [with_nll(side, level, 0.0, rng) for side in (found.endpoint, found.reference)]
        told = compare(Sides(rows(moved[0], ours), rows(moved[1], theirs)), rng, 199)
        alarms.append([told.distance.p <= 0.05, told.moved.p <= 0.05])
    assert (np.mean(alarms, axis=0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)).all()


def with_nll(side: Answers, level: np.ndarray, shift: float, rng: np.random.Generator) -> Answers:
    """The same answers, with likelihoods around their prompt's level, in nats a token."""
    own = level[side.prompts] + shift + rng.normal(0.0, 0.15, len(side))
    return replace(side, logprobs=np.where(side.there, -own[:, None], np.nan))


def test_the_order_of_answers_and_the_names_of_prompts_say_nothing() -> None:
    found, rng = sides(12, 5, 5, seed=8, change=noisy(0.7)), np.random.default_rng(8)
    turned = [rows(side, rng.permutation(len(side))) for side in (found.endpoint, found.reference)]
    renamed = Sides(*(replace(side, prompts=100 - 3 * side.prompts) for side in turned))
    one, other = (compare(each, np.random.default_rng(0), 4_999) for each in (found, renamed))
    for name in ("distance", "as_came", "moved", "copies"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value)
        assert getattr(one, name).p == pytest.approx(getattr(other, name).p, abs=0.03)


def with_space(side: Answers, space: str) -> Answers:
    """The texts of an endpoint that puts this before each."""
    texts = [space + " ".join(f"w{token}" for token in row[row != NO_TOKEN]) for row in side.ids]
    return replace(side, as_came=cut(texts, lambda text: [int(word[1:] or 0) for word in text.split(" ")]).as_came)


def test_a_stripped_space_is_told_as_formatting_and_counts_nothing() -> None:
    found = sides(12, 6, 6, seed=9)
    reference = with_space(found.reference, " ")
    stripped = compare(Sides(with_space(found.endpoint, ""), reference), np.random.default_rng(9), 999)
    kept = compare(Sides(with_space(found.endpoint, " "), reference), np.random.default_rng(9), 999)
    assert stripped.distance == kept.distance
    assert stripped.distance.p > 0.05
    assert stripped.as_came.p == 0.001
    assert stripped.formatting == pytest.approx(stripped.as_came.value - stripped.distance.value)
    assert stripped.formatting_words is not None
    assert stripped.formatting_words.startswith("formatting: ")
    assert kept.formatting_words is None


def test_a_change_of_the_answers_themselves_is_no_formatting() -> None:
    told = compare(sides(25, 10, 10, seed=10, change=noisy(1.5)), np.random.default_rng(10), 999)
    assert told.as_came.p <= 0.01
    assert told.formatting_words is None


def test_copies_are_seen() -> None:
    found = sides(12, 6, 6, seed=11)
    copied = rows(found.endpoint, 6 * (np.arange(72) // 6))
    told = compare(Sides(copied, found.reference), np.random.default_rng(11), 1_999)
    assert told.copies.p <= 0.001
    assert told.copies.value > 0.9
    assert compare(found, np.random.default_rng(11), 999).copies.value < 0.1
