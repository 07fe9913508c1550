from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.wire.json_value import RepeatedKeys, WrittenFloat, parse_exact_json, parse_strict_json

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


@given(json_values)
@settings(max_examples=50)
def test_an_exact_value_is_the_strict_one(value: Any) -> None:
    text = json.dumps(value)
    assert parse_exact_json(text) == parse_strict_json(text)


@pytest.mark.parametrize("text", ["2.0", "1e3", "-0", "-0.0", "0.1000000000000000055", "1e999", "9007199254740993.0"])
def test_a_number_keeps_its_text(text: str) -> None:
    number = parse_exact_json(text)
    assert isinstance(number, WrittenFloat)
    assert number.text == text
    assert pickle.loads(pickle.dumps(number)).text == copy.deepcopy(number).text == text


@pytest.mark.parametrize("number", [0, -1, 2**53 + 1, -(10**40)])
def test_a_plain_integer_stays_one(number: int) -> None:
    assert type(parse_exact_json(str(number))) is int
    assert parse_exact_json(str(number)) == number


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "1" * 5_000, "[" * 200 + "]" * 200, "{", "01"])
def test_what_is_no_json_or_beyond_reading_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_exact_json(text)


def test_an_object_that_repeats_a_key_says_so() -> None:
    value = parse_exact_json('{"a": {"b": 1, "b": 2}, "c": {"b": 1}}')
    assert isinstance(value["a"], RepeatedKeys)
    assert value == {"a": {"b": 2}, "c": {"b": 1}}
    assert not isinstance(value["c"], RepeatedKeys)
