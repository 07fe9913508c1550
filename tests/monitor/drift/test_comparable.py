"""Answers that cannot be compared, each with its reason; and hardly any while the endpoint draws as the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.simulated.texts import model, rows, sides, tempered
from monitor.drift.answers import Answers, Sides
from monitor.drift.comparable import why_not_drawn_anew, why_not_ranked, why_not_repeated
from monitor.drift.greedy_divergence import NO_TOKEN
from monitor.drift.repeated_answers import compare

FOUND = sides(12, 6, 12, seed=0)


def emptied(side: Answers, which: np.ndarray) -> Answers:
    return replace(side, ids=np.where(which[:, None], NO_TOKEN, side.ids))


def stating(side: Answers, otherwise: int) -> Answers:
    """As many answers that count a few tokens more than there are."""
    return replace(side, stated=(side.as_came != NO_TOKEN).sum(axis=1) + 3 * (np.arange(len(side)) < otherwise))


def test_answers_that_are_as_they_should_be_have_no_reason() -> None:
    assert why_not_ranked(FOUND) is None
    assert why_not_repeated(FOUND) is None
    assert why_not_drawn_anew(compare(FOUND, np.random.default_rng(0), 999)) is None


def test_few_prompts_are_too_few() -> None:
    few = Sides(rows(FOUND.endpoint, np.flatnonzero(FOUND.endpoint.prompts < 9)), FOUND.reference)
    said = "9 prompts have answers of either side, and 10 are needed"
    assert why_not_ranked(few) == why_not_repeated(few) == said
    none = Sides(rows(FOUND.endpoint, np.arange(0)), FOUND.reference)
    assert why_not_ranked(none) == "0 prompts have answers of either side, and 10 are needed"


def test_few_answers_of_the_reference_are_too_few_to_rank_among() -> None:
    fewer = Sides(FOUND.endpoint, rows(FOUND.reference, np.flatnonzero(np.arange(144) % 12 < 9)))
    assert why_not_ranked(fewer) == "an answer is ranked among 9 of the reference's, and 10 are needed"
    assert why_not_repeated(fewer) is None


def test_one_answer_to_each_prompt_is_nothing_repeated() -> None:
    once = Sides(rows(FOUND.endpoint, np.arange(0, 72, 6)), FOUND.reference)
    assert why_not_ranked(once) is None
    assert why_not_repeated(once) == "0 prompts have two answers or more of either side, and 10 are needed"


def test_empty_answers_are_none() -> None:
    every = np.ones(72, dtype=np.bool_)
    gone = Sides(emptied(FOUND.endpoint, every), FOUND.reference)
    assert why_not_repeated(gone) == "72 of the endpoint's 72 answers are empty"
    both = Sides(emptied(FOUND.endpoint, every), emptied(FOUND.reference, np.arange(144) % 4 > 0))
    assert why_not_ranked(both) == "180 of 216 answers of both sides are empty"
    some = Sides(emptied(FOUND.endpoint, np.arange(72) % 6 == 0), FOUND.reference)
    assert why_not_repeated(some) is None


def test_prompts_that_have_one_answer_tell_nothing() -> None:
    sure = sides(12, 6, 12, seed=1, of=model(12, seed=1).changed(tempered(0.01)))
    said = why_not_ranked(sure)
    assert said is not None
    assert said.startswith("of 216 answers only ")
    assert said.endswith("prompts that have one answer, or draws that are copies")


@pytest.mark.parametrize(
    ("ours", "theirs", "inapplicable"),
    [(40, 3, True), (10, 3, False), (40, 70, False), (72, 117, False), (0, 0, False)],
)
def test_tokens_that_are_cut_otherwise_are_counted_on_both_sides(ours: int, theirs: int, inapplicable: bool) -> None:
    found = Sides(stating(FOUND.endpoint, ours), stating(FOUND.reference, theirs))
    said = why_not_repeated(found)
    assert (said is not None) is inapplicable
    if said is not None:
        assert said.startswith(f"{ours} of 72 answers count other tokens than the reference's tokenizer cuts them into")
    assert why_not_repeated(Sides(stating(FOUND.endpoint, ours), FOUND.reference)) is None


def test_copies_are_no_draws() -> None:
    copied = Sides(rows(FOUND.endpoint, 6 * (np.arange(72) // 6)), FOUND.reference)
    said = why_not_drawn_anew(compare(copied, np.random.default_rng(2), 1_999))
    assert said is not None
    assert said.startswith("100% more of the endpoint's pairs of answers are equal than of the reference's")
    assert why_not_ranked(copied) is None


def test_an_endpoint_that_draws_alike_is_seldom_inapplicable() -> None:
    """Short answers, many of which are equal, empty, or cut otherwise on either side."""
    of, said = model(10, seed=3, ends=3.0), 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        found = sides(10, 6, 6, seed=seed, of=of, tokens=6)
        found = Sides(*(stating(side, int(rng.binomial(60, 0.3))) for side in (found.endpoint, found.reference)))
        reason = why_not_repeated(found)
        said += reason is not None or why_not_drawn_anew(compare(found, rng, 999)) is not None
    # A thousandth for each of three, of 120.
    assert said <= 3
