from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.sse import Event, EventDecoder

LINE_ENDS = [b"\n", b"\r\n", b"\r"]


def decode(*pieces: bytes) -> list[Event]:
    decoder = EventDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.finish()


def data(*pieces: bytes) -> list[bytes]:
    return [event.data for event in decode(*pieces)]


@pytest.mark.parametrize("end", LINE_ENDS)
def test_every_line_end_ends_a_line(end: bytes) -> None:
    assert data(b"data: one" + end + end + b"data: two" + end + end) == [b"one", b"two"]


def test_line_ends_may_be_mixed() -> None:
    assert data(b"data: a\r\ndata: b\rdata: c\n\r\n") == [b"a\nb\nc"]


def test_a_crlf_may_come_in_two_pieces() -> None:
    assert data(b"data: one\r", b"\n\r", b"\ndata: two\r\n\r\n") == [b"one", b"two"]


def test_an_event_is_there_as_soon_as_its_blank_line_ends() -> None:
    assert EventDecoder().feed(b"data: one\r\r") == [Event(b"one")]


def test_a_byte_order_mark_is_dropped_once() -> None:
    assert data(b"\xef", b"\xbb\xbfdata: one\n\n\xef\xbb\xbfdata: two\n\n") == [b"one"]


def test_one_blank_after_the_colon_is_dropped() -> None:
    assert data(b"data:one\n\ndata: two\n\ndata:  three\n\n") == [b"one", b"two", b" three"]


def test_a_block_without_data_dispatches_nothing() -> None:
    assert decode(b"id: 7\nretry: 10\nevent: ping\n\ndata: one\n\n") == [Event(b"one")]


def test_a_data_line_without_a_value_is_an_event() -> None:
    assert data(b"data\n\ndata:\n\n") == [b"", b""]


def test_comments_are_counted_and_carry_nothing() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b": ping\n\n:\ndata: one\n: inside\n\n") == [Event(b"one")]
    assert decoder.comments == 3


def test_the_end_dispatches_what_is_open() -> None:
    assert decode(b"data: one\n") == [Event(b"one", whole=True)]


def test_an_event_whose_last_line_is_not_ended_may_have_been_cut() -> None:
    assert decode(b"data: one") == [Event(b"one", whole=False)]


def test_unknown_fields_are_ignored() -> None:
    assert data(b"dat: x\nbanana\ndata: one\n\n") == [b"one"]


@given(st.lists(st.sampled_from([b"data: a", b"data:", b": c", b"id: 1", b"\r", b"\n", b"\r\n", b"\xff", b"event: e"])))
def test_pieces_make_no_difference(parts: list[bytes]) -> None:
    whole = b"".join(parts)
    assert decode(whole) == decode(*(whole[here : here + 1] for here in range(len(whole))))


@given(st.binary())
def test_any_bytes_are_taken(body: bytes) -> None:
    assert decode(body) == decode(*(body[here : here + 1] for here in range(len(body))))
