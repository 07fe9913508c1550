"""The growing text of an answer: characters, stop strings, and how the bytes are cut must not matter."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_engine.answer import AnswerText


def grown(pieces: list[bytes], *stop: str) -> tuple[list[str], bool]:
    answer = AnswerText(stop)
    texts = []
    for piece in pieces:
        texts.append(answer.feed(piece))
        if answer.stopped:
            return texts, True
    return [*texts, answer.finish()], answer.stopped


def cut(data: bytes, borders: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(border % (len(data) + 1) for border in borders)})
    return [data[a:b] for a, b in pairwise(edges)]


@given(st.binary(max_size=60), st.lists(st.integers(0, 99)))
def test_without_stop_strings_the_text_is_the_decoded_bytes(data: bytes, borders: list[int]) -> None:
    assert "".join(grown(cut(data, borders))[0]) == data.decode("utf-8", "replace")


@given(st.text("abé😀", max_size=30), st.text("abé😀", min_size=1, max_size=4), st.lists(st.integers(0, 99)))
def test_the_text_ends_before_the_first_stop_string(text: str, stop: str, borders: list[int]) -> None:
    texts, stopped = grown(cut(text.encode(), borders), stop)

    assert "".join(texts) == text.partition(stop)[0]
    assert stopped == (stop in text)


def test_only_what_may_begin_a_stop_string_is_held_back() -> None:
    texts, stopped = grown([b"one\n", b"two\n", b"\nthree"], "\n\n")

    assert texts == ["one", "\ntwo", ""]
    assert stopped


def test_held_text_is_released_when_it_turns_out_harmless() -> None:
    assert grown([b"a EN", b"ORMOUS"], "END", "a ENOUGH")[0] == ["", "a ENORMOUS", ""]


def test_held_text_is_released_at_the_end() -> None:
    assert grown([b"yes EN"], "END") == (["yes ", "EN"], False)


def test_a_character_comes_out_with_its_last_byte() -> None:
    assert grown([b"\xf0\x9f", b"\x98", b"\x80!"])[0] == ["", "", "😀!", ""]


def test_a_character_left_incomplete_becomes_a_replacement() -> None:
    assert grown([b"a\xf0\x9f"])[0] == ["a", "\ufffd"]


@pytest.mark.parametrize("stops", [("aab", "b"), ("b", "aab")])
def test_of_several_stop_strings_complete_at_once_the_earliest_start_wins(stops: tuple[str, ...]) -> None:
    assert grown([b"xaab"], *stops)[0] == ["x"]
