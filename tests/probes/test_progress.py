"""Telling an answer from a kept-open connection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.progress import Progress

IDLE = [
    b": keep-alive\n\n",
    b"\r\n",
    b"\n \n",
    b"event: ping\nid: 7\nretry: 10\n\n",
    b":\r:\r",
    b"  \t",
    b": data: x\n",
    b"\r\r",
]
MOVING = [
    b'data: {"a": 1}\n\n',
    b"{",
    b"  [",
    b": note\ndata: x",
    b"<html>",
    b"event: x\ndata:",
    b"error",
    b"\n\nd",
    b"7",
]


@pytest.mark.parametrize("piece", IDLE)
def test_keep_alives_are_no_progress(piece: bytes) -> None:
    progress = Progress()

    assert [progress.saw(piece) for _ in range(3)] == [False] * 3


@pytest.mark.parametrize("piece", MOVING)
def test_a_part_of_an_answer_is_progress(piece: bytes) -> None:
    assert Progress().saw(piece)


@given(st.lists(st.sampled_from(IDLE)))
def test_keep_alives_are_none_in_whatever_pieces(pieces: list[bytes]) -> None:
    progress = Progress()

    assert not any(progress.saw(bytes([byte])) for byte in b"\n".join(pieces))


@given(st.lists(st.sampled_from(IDLE)), st.sampled_from(MOVING))
def test_an_answer_after_keep_alives_is_seen_in_whatever_pieces(pieces: list[bytes], last: bytes) -> None:
    progress = Progress()

    assert any(progress.saw(bytes([byte])) for byte in b"\n".join([*pieces, last]))


def test_each_piece_of_a_long_line_is_progress() -> None:
    progress = Progress()

    assert [progress.saw(piece) for piece in (b"da", b"ta: {", b'"a":', b" 1}", b"\n", b"\n", b": idle\n")] == [
        True,
        True,
        True,
        True,
        True,
        False,
        False,
    ]
