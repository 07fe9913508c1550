"""Answers dealt out anew within each prompt, and never across."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.dealt_answers import NOWHERE, Pooled, Sums, measured
from monitor.drift.observation import FloatArray

COUNTS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=4)


def pooled_of(counts: list[tuple[int, int]]) -> Pooled:
    ours, theirs = (np.repeat(np.arange(len(counts)), [one[side] for one in counts]) for side in (0, 1))
    return Pooled.of(ours, theirs)


def test_prompts_of_one_side_alone_are_left_out() -> None:
    pooled = Pooled.of(np.array([4, 2, 4]), np.array([9, 4, 2, 2]))
    assert pooled.places.tolist() == [[1, 5, 6], [0, 2, 4]]
    assert pooled.here.tolist() == [1, 2]
    assert pooled.there.tolist() == [2, 1]
    with pytest.raises(ValueError, match="no prompt in common"):
        Pooled.of(np.array([1]), np.array([2]))


@given(COUNTS, st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_each_deal_leaves_every_prompt_as_many_answers_of_the_endpoint(
    counts: list[tuple[int, int]], seed: int
) -> None:
    pooled = pooled_of(counts)
    (labels,) = pooled.deals(50, np.random.default_rng(seed))
    assert labels.shape == (len(counts), 50, pooled.places.shape[1])
    assert (labels.sum(axis=-1) == pooled.here[:, None]).all()
    assert pooled.seen.sum(axis=-1)[:, 0].tolist() == [here for here, _ in counts]
    past = np.broadcast_to((pooled.places == NOWHERE)[:, None], labels.shape)
    assert not labels[past].any()


def test_every_deal_of_a_prompt_is_as_likely() -> None:
    pooled = pooled_of([(2, 2), (1, 2)])
    (labels,) = pooled.deals(6_000, np.random.default_rng(0))
    seen = dict.fromkeys(combinations(range(4), 2), 0)
    for row in labels[0]:
        seen[tuple(np.flatnonzero(row).tolist())] += 1  # type: ignore[index]
    # 1,000 of each, with a standard deviation of 29.
    assert max(abs(count - 1_000) for count in seen.values()) < 4 * 29
    assert np.abs(labels[1].mean(axis=0)[:3] - 1 / 3).max() < 0.03


def test_prompts_are_dealt_independently_of_each_other() -> None:
    (labels,) = pooled_of([(3, 3)] * 2).deals(4_000, np.random.default_rng(1))
    assert np.abs(np.corrcoef(labels[0].T, labels[1].T)[:6, 6:]).max() < 0.06


def test_blocks_are_no_more_deals_than_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.drift.dealt_answers._AT_ONCE", 100)
    blocks = list(pooled_of([(2, 2)] * 3).deals(50, np.random.default_rng(2)))
    assert sum(block.shape[1] for block in blocks) == 50
    assert len(blocks) > 1


@given(COUNTS, st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_sums_are_those_over_ordered_pairs(counts: list[tuple[int, int]], seed: int) -> None:
    pooled, rng = pooled_of(counts), np.random.default_rng(seed)
    kernel = rng.integers(0, 5, (len(counts), *[pooled.places.shape[1]] * 2)).astype(np.float64)
    kernel += kernel.transpose(0, 2, 1)
    there = pooled.places != NOWHERE
    kernel *= there[:, :, None] & there[:, None] & ~np.eye(kernel.shape[1], dtype=np.bool_)
    sums = Sums.of(kernel, pooled.seen)
    for prompt, (here, _) in enumerate(counts):
        own = kernel[prompt]
        assert sums.here[prompt, 0] == own[:here, :here].sum()
        assert sums.across[prompt, 0] == own[:here, here:].sum()
        assert sums.there[prompt, 0] == own[here:, here:].sum()


def test_p_counts_what_was_seen_among_the_deals() -> None:
    """The first of two has the larger value: one of two deals is as large."""
    pooled = Pooled.of(np.array([0]), np.array([0]))

    def value(labels: FloatArray) -> FloatArray:
        return np.asarray(labels[0, :, 0])

    (found,) = measured(pooled, [value], 999, np.random.default_rng(3))
    assert found.value == 1.0
    assert found.p == pytest.approx(0.5, abs=0.05)
    (certain,) = measured(pooled, [lambda labels: np.zeros(labels.shape[1])], 999, np.random.default_rng(3))
    assert certain.p == 1.0


def test_no_p_is_smaller_than_its_number_of_deals_can_show() -> None:
    pooled = pooled_of([(5, 5)] * 8)
    (found,) = measured(pooled, [lambda labels: labels[:, :, :5].sum(axis=(0, 2))], 99, np.random.default_rng(4))
    assert found.p == 0.01
