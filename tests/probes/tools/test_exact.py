from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.tools.exact import exact_hash, exact_text, same, written
from probes.wire.json_value import parse_exact_json

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("2", "2.0"),
        ("2", "2e0"),
        ("2", "0.2E+1"),
        ("1e3", "1000"),
        ("100.10", "100.1"),
        ("0", "0.0e7"),
        ("-0", "-0.00"),
        ("1e-7", "0.0000001"),
        ('{"a": 1, "b": [2.0]}', '{"b": [2], "a": 1.0}'),
        ('"\\u00e9"', '"é"'),
    ],
)
def test_two_writings_of_a_value_are_the_same(left: str, right: str) -> None:
    assert same(parse_exact_json(left), parse_exact_json(right))
    assert exact_hash(parse_exact_json(left)) == exact_hash(parse_exact_json(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("9007199254740993", "9007199254740992"),
        ("9007199254740993.0", "9007199254740992.0"),
        ("0.1", "0.1000000000000000055511151231257827"),
        ("0", "-0"),
        ("1", "true"),
        ("0", "false"),
        ("2", '"2"'),
        ("null", '"null"'),
        ("[]", "{}"),
        ("[1, 2]", "[2, 1]"),
        ('["a,b"]', '["a", "b"]'),
        ('"e\\u0301"', '"é"'),
        ("1e999", "1e998"),
        ("1e99999999999999999999999", "1e999"),
    ],
)
def test_values_that_differ_in_what_is_written_differ(left: str, right: str) -> None:
    assert not same(parse_exact_json(left), parse_exact_json(right))


@given(json_values)
@settings(max_examples=50)
def test_a_value_is_the_same_after_a_trip_over_the_wire(value: Any) -> None:
    assert exact_text(parse_exact_json(json.dumps(value))) == exact_text(value)


@given(json_values, json_values)
@settings(max_examples=50)
def test_values_with_one_text_are_equal(left: Any, right: Any) -> None:
    if same(left, right):
        assert left == right


def test_half_of_a_surrogate_pair_can_be_hashed() -> None:
    assert exact_hash(parse_exact_json('"\\ud83d"')) != exact_hash("?")


@pytest.mark.parametrize("text", ["2.50", "7", "-0"])
def test_a_number_is_written_as_it_came(text: str) -> None:
    assert written(parse_exact_json(text)) == text
