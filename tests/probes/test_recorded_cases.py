"""Every recorded answer is understood as it should be, in whatever pieces and whatever lawful form it comes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from probes.quirks import Quirk
from tests.probes.recorded_cases import Case, body_of, expected, load_cases, read_pieces, understood

CASES = load_cases()
STREAMS = [name for name, case in CASES.items() if case["response_raw"].count("data:") > 1]


def in_random_pieces(body: bytes, seed: int) -> Iterator[bytes]:
    draw = random.Random(seed)
    longest = draw.choice([2, 7, 60, 1000])
    start = 0
    while start < len(body):
        end = start + draw.randint(1, longest)
        yield body[start:end]
        start = end


def test_both_files_are_there() -> None:
    assert len([name for name in CASES if re.fullmatch(r"C\d\d", name)]) == 50
    assert len(CASES) > 250


@pytest.mark.parametrize("name", CASES)
def test_a_whole_answer_is_understood(name: str) -> None:
    case = CASES[name]
    assert understood(case, read_pieces(case, [body_of(case)])) == expected(case)


@pytest.mark.parametrize("name", CASES)
def test_bytes_that_come_one_by_one_are_the_same_answer(name: str) -> None:
    case = CASES[name]
    body = body_of(case)
    completion = read_pieces(case, (body[here : here + 1] for here in range(len(body))))
    assert completion == read_pieces(case, [body])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", CASES)
def test_bytes_in_any_pieces_are_the_same_answer(name: str, seed: int) -> None:
    case = CASES[name]
    body = body_of(case)
    assert read_pieces(case, in_random_pieces(body, seed)) == read_pieces(case, [body])


def test_every_quirk_has_a_case_that_shows_it() -> None:
    shown = {defect for case in CASES.values() for defect in case["expect"]["defects"]}
    assert shown == {quirk.value for quirk in Quirk}


def test_every_case_names_only_what_replay_shows() -> None:
    for name, case in CASES.items():
        found = understood(case, read_pieces(case, [body_of(case)]))["parsed"]
        assert (found is None) == (case["expect"]["parsed"] is None), name


def with_line_end(end: bytes) -> Callable[[bytes], bytes]:
    return lambda body: re.sub(rb"\r\n|\r|\n", end, body)


def with_comments(body: bytes) -> bytes:
    return re.sub(rb"(^|\n\n)data:", rb"\1: keep-alive\n\ndata:", body)


def with_ids_and_names(body: bytes) -> bytes:
    return re.sub(rb"(^|\n\n)data:", rb"\1id: 7\nretry: 3000\nevent: message\ndata:", body)


def without_blank_after_colon(body: bytes) -> bytes:
    return re.sub(rb"(^|\n)data: ", rb"\1data:", body)


def with_done_twice(body: bytes) -> bytes:
    return body.replace(b"data: [DONE]\n\n", b"data: [DONE]\n\n" * 2)


LAWFUL: dict[str, Callable[[bytes], bytes]] = {
    "CRLF": with_line_end(b"\r\n"),
    "CR": with_line_end(b"\r"),
    "LF": with_line_end(b"\n"),
    "comments": with_comments,
    "ids and names": with_ids_and_names,
    "no blank after the colon": without_blank_after_colon,
    "[DONE] twice": with_done_twice,
    "a byte order mark": lambda body: b"\xef\xbb\xbf" + body.removeprefix(b"\xef\xbb\xbf"),
    "blank lines first": lambda body: b"\n\n" + body,
    "no blank line last": lambda body: body.rstrip(b"\n"),
    "a block without data last": lambda body: re.sub(rb"\n\n$", rb"\n\nid: 9\n\n", body),
}


@pytest.mark.parametrize("variation", LAWFUL)
@pytest.mark.parametrize("name", STREAMS)
def test_a_lawful_variation_changes_nothing(name: str, variation: str) -> None:
    case: Case = CASES[name]
    body = body_of(case)
    varied = read_pieces(case, [LAWFUL[variation](body)])
    assert replace(varied, comments=0) == replace(read_pieces(case, [body]), comments=0)
