from __future__ import annotations

from typing import Any

import pytest

from probes.completion import TokenAlternative, TokenLogprob
from probes.wire.token_logprobs import Shape, positions_in, shape_of


def normalised(logprobs: Any) -> list[TokenLogprob]:
    return [position.normalised() for position in positions_in(logprobs)]


@pytest.mark.parametrize(
    ("logprobs", "shape"),
    [
        ({"content": []}, Shape.CHAT),
        ({"content": None, "refusal": []}, Shape.CHAT),
        ([{"token": "a", "logprob": -1}], Shape.CHAT),
        ({"tokens": [], "token_logprobs": []}, Shape.COMPLETIONS),
        ({"content": None}, None),
        ({}, None),
        ([], None),
        (None, None),
        ("content", None),
    ],
)
def test_the_shape_is_told_by_its_keys(logprobs: Any, shape: Shape | None) -> None:
    assert shape_of(logprobs) == shape


def test_both_shapes_come_to_the_same() -> None:
    alternative = TokenAlternative("a", b"a", -0.5)
    wanted = [TokenLogprob(alternative, (alternative, TokenAlternative(" b", b" b", -1.5)))]
    entry = {"token": "a", "logprob": -0.5, "bytes": [97]}
    other = {"token": " b", "logprob": -1.5, "bytes": [32, 98]}
    top = {"a": -0.5, " b": -1.5}
    assert normalised({"content": [{**entry, "top_logprobs": [entry, other]}]}) == wanted
    assert normalised({"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [top]}) == wanted
    assert normalised({"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [[entry, other]]}) == wanted


@pytest.mark.parametrize(
    "value", [None, -100, -100.0, -9999.0, -3.4028234663852886e38, float("nan"), "-Infinity", "x", []]
)
def test_a_censored_value_is_none(value: Any) -> None:
    (position,) = normalised({"content": [{"token": "a", "logprob": value}]})
    assert position.sampled.logprob is None


@pytest.mark.parametrize("value", [0, -99.9, "-2.5", 0.0005])
def test_any_other_value_is_a_number(value: Any) -> None:
    (position,) = normalised({"content": [{"token": "a", "logprob": value}]})
    assert position.sampled.logprob == float(value)


@pytest.mark.parametrize(
    ("entry", "token", "token_bytes"),
    [
        ({"token": "é", "bytes": [195, 169]}, "é", b"\xc3\xa9"),
        ({"token": "é"}, "é", b"\xc3\xa9"),
        ({"token": "\ufffd", "bytes": [240, 159]}, "\ufffd", b"\xf0\x9f"),
        ({"token": "\ufffd", "bytes": [239, 191, 189]}, "\ufffd", None),
        ({"token": "\ufffd", "bytes": None}, "\ufffd", None),
        ({"token": "\u0120a", "bytes": None}, " a", b" a"),
        ({"token": "\u0120a", "bytes": [196, 160, 97]}, " a", b" a"),
        ({"token": "\u2581a", "bytes": [32, 97]}, " a", b" a"),
        ({"token": "a", "bytes": [300]}, "a", b"a"),
        ({"token": "\ud83d", "bytes": [240]}, "\ufffd", b"\xf0"),
        ({"token": 5, "bytes": "x"}, "", b""),
    ],
)
def test_a_token_is_known_by_its_bytes(entry: dict[str, Any], token: str, token_bytes: bytes | None) -> None:
    (position,) = normalised({"content": [{**entry, "logprob": -1.0}]})
    assert (position.sampled.token, position.sampled.token_bytes) == (token, token_bytes)


@pytest.mark.parametrize(
    ("name", "token_bytes"),
    [
        ("bytes:\\xc3", b"\xc3"),
        ("bytes: \\xf0\\x9f", b" \xf0\x9f"),
        ("bytes:", b"bytes:"),
        ("bytes:a", b"bytes:a"),
        ("a bytes:\\xc3", b"a bytes:\\xc3"),
    ],
)
def test_a_name_that_spells_bytes_stands_for_them(name: str, token_bytes: bytes) -> None:
    (position,) = normalised({"tokens": [name], "token_logprobs": [-1.0], "top_logprobs": [{name: -1.0}]})
    assert position.top == (position.sampled,)
    assert (position.sampled.token, position.sampled.token_bytes) == (name, token_bytes)


def test_lists_of_unequal_length_are_read_as_far_as_tokens_go() -> None:
    found = normalised({"tokens": ["a", "b"], "token_logprobs": [-1.0], "top_logprobs": [None, None, {}]})
    assert [position.sampled.logprob for position in found] == [-1.0, None]
