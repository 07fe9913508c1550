"""Whole answers in canonical form: what whitespace and padding do not change, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.answers import Answers, cut, joined, padded
from monitor.drift.greedy_divergence import NO_TOKEN

WHITESPACE = st.text(" \n\t", max_size=3)
ANSWERS = Answers(
    prompts=np.array([0, 0, 1]),
    ids=padded([[5, 6], [], [7]]),
    logprobs=np.array([[-1.0, -2.0], [np.nan, np.nan], [-0.5, np.nan]]),
    ranks=np.array([[0, 3], [-1, -1], [1, -1]]),
    as_came=padded([[5, 6], [9], [7]]),
)


def encode(text: str) -> list[int]:
    """A leading space belongs to the token, as in byte-pair vocabularies."""
    return [hash_of(piece) for piece in text.replace(" ", "| ").split("|") if piece]


def hash_of(piece: str) -> int:
    return sum((place + 1) * ord(letter) for place, letter in enumerate(piece))


@given(st.lists(st.text("ab ", min_size=1, max_size=9).filter(str.strip)), WHITESPACE, WHITESPACE)
def test_whitespace_at_either_end_changes_nothing_but_how_the_text_came(
    texts: list[str], before: str, after: str
) -> None:
    plain, dressed = cut([text.strip() for text in texts], encode), cut([before + t + after for t in texts], encode)
    assert np.array_equal(plain.canonical, dressed.canonical)
    assert np.array_equal(plain.canonical, plain.as_came)


def test_a_leading_space_is_another_first_token_as_it_came() -> None:
    found = cut([" a b", "a b"], encode)
    assert found.canonical[0].tolist() == found.canonical[1].tolist() == found.as_came[1].tolist()
    assert found.as_came[0, 0] != found.as_came[1, 0]


def test_rows_are_padded_to_the_longest_of_both_sides() -> None:
    both = joined(padded([[1]]), padded([[2, 3], []]))
    assert both.tolist() == [[1, NO_TOKEN], [2, 3], [NO_TOKEN, NO_TOKEN]]
    assert padded([]).shape == (0, 0)


def test_scores_are_means_over_the_tokens_there_are() -> None:
    assert ANSWERS.log_rank == pytest.approx([np.log(4.0) / 2, 0.0, np.log(2.0)])
    assert ANSWERS.nll == pytest.approx([1.5, 0.0, 0.5])
    assert ANSWERS.empty.tolist() == [False, True, False]


def test_more_padding_leaves_every_score_as_it_was() -> None:
    rng = np.random.default_rng(0)
    logprobs, ids = -rng.exponential(1.0, (20, 13)), rng.integers(0, 9, (20, 13))
    plain = Answers(np.zeros(20, dtype=np.int64), ids, logprobs, ids, ids)
    wide = Answers(
        plain.prompts,
        np.pad(ids, ((0, 0), (0, 30)), constant_values=NO_TOKEN),
        np.pad(logprobs, ((0, 0), (0, 30)), constant_values=np.nan),
        np.pad(ids, ((0, 0), (0, 30)), constant_values=NO_TOKEN),
        ids,
    )
    assert np.array_equal(plain.nll, wide.nll)
    assert np.array_equal(plain.log_rank, wide.log_rank)


def test_an_end_of_text_token_may_be_counted_or_not() -> None:
    assert ANSWERS.cut_otherwise is None
    found = replace(ANSWERS, stated=np.array([3, 1, 4])).cut_otherwise
    assert found is not None
    assert found.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"logprobs": np.zeros((3, 1))}, "one log-probability and one rank each"),
        ({"prompts": np.array([0, 1])}, "one prompt"),
        ({"ids": np.array([[5, 6], [NO_TOKEN, 6], [7, NO_TOKEN]])}, "goes on after its end"),
        ({"logprobs": np.full((3, 2), 0.1)}, "score every token"),
        ({"logprobs": np.full((3, 2), np.nan)}, "score every token"),
        ({"ranks": np.full((3, 2), NO_TOKEN)}, "rank every token"),
    ],
)
def test_what_does_not_fit_together_is_refused(wrong: dict[str, np.ndarray], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(ANSWERS, **wrong)
