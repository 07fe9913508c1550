from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.tools.case import ExpectedCall, Leaf
from probes.tools.exact import same
from probes.tools.matchers import LeafMatch, compare, matches
from probes.tools.pointers import MISSING, leaves
from probes.wire.json_value import parse_exact_json
from tests.probes.tools.answers import exactly

DAY = Leaf("date", "2026-05-01")
INSTANT = Leaf("date", "2026-05-01T12:00:00Z")

objects: st.SearchStrategy[Any] = st.dictionaries(
    st.text(max_size=3),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


@pytest.mark.parametrize(
    ("leaf", "text"),
    [
        (Leaf("exact", "007"), '"007"'),
        (Leaf("exact", 2), "2.0"),
        (Leaf("exact", None), "null"),
        (Leaf("exact", {"a": [1, -0.0]}), '{"a": [1.0, -0]}'),
        (Leaf("exact", '</tool_call>\n\\"é😀'), '"</tool_call>\\n\\\\\\"\\u00e9\\ud83d\\ude00"'),
        (Leaf("ci", "Cape  Wrath "), '"cape wrath"'),
        (Leaf("ci", "STRASSE"), '"straße"'),
        (Leaf("ci", "é"), '"e\\u0301"'),
        (Leaf("number", 0.2, 0.1), "0.3"),
        (Leaf("number", 19.99), "19.990"),
        (Leaf("number", 10**30, 1.0), "1000000000000000000000000000001"),
        (DAY, '"2026-05-01"'),
        (DAY, '"2026-05-01T00:00:00Z"'),
        (INSTANT, '"2026-05-01T14:00:00+02:00"'),
        (INSTANT, '"2026-05-01 12:00:00.000z"'),
        (Leaf("date", "2026-05-01T12:00"), '"2026-05-01T12:00:00"'),
        (Leaf("set", ["a", 1, "a"]), '[1.0, "a", "a"]'),
        (Leaf("set", []), "[]"),
        (Leaf("regex", "^[A-Z]{2}-[0-9]+$"), '"FY-17"'),
        (Leaf("any_of", ["NYC", "New York", 3]), '"New York"'),
        (Leaf("any_of", ["NYC", None]), "null"),
        (Leaf("absent_ok", "noon"), '"noon"'),
    ],
)
def test_a_right_value_matches(leaf: Leaf, text: str) -> None:
    assert matches(leaf, parse_exact_json(text))


@pytest.mark.parametrize(
    ("leaf", "text"),
    [
        (Leaf("exact", "007"), "7"),
        (Leaf("exact", 7), '"7"'),
        (Leaf("exact", True), "1"),
        (Leaf("exact", 1), "true"),
        (Leaf("exact", 2**53 + 1), "9007199254740992"),
        (Leaf("exact", -0.0), "0"),
        (Leaf("exact", "a"), '"A"'),
        (Leaf("exact", "a\tb"), '"a\\\\tb"'),
        (Leaf("ci", "cape wrath"), '"capewrath"'),
        (Leaf("ci", "7"), "7"),
        (Leaf("number", 0.2, 0.1), "0.31"),
        (Leaf("number", 1, 5), "true"),
        (Leaf("number", 1, 5), '"1"'),
        (Leaf("number", 1, 5), "1e999"),
        (Leaf("number", 2**53), "9007199254740993"),
        (DAY, '"2026-05-02"'),
        (DAY, '"2026-05-01T12:00:00Z"'),
        (DAY, '"01.05.2026"'),
        (DAY, '"2026-13-01"'),
        (DAY, "20260501"),
        (INSTANT, '"2026-05-01"'),
        (INSTANT, '"2026-05-01T12:00:00"'),
        (INSTANT, '"2026-05-01T12:00:00+01:00"'),
        (Leaf("date", "tomorrow"), '"tomorrow"'),
        (Leaf("set", ["a", "a"]), '["a"]'),
        (Leaf("set", ["a"]), '"a"'),
        (Leaf("set", ["a"]), '{"a": 1}'),
        (Leaf("regex", "^[0-9]+$"), "17"),
        (Leaf("regex", "^(a+)+$"), json.dumps("a" * 5_000 + "!")),
        (Leaf("any_of", []), "null"),
        (Leaf("any_of", [1]), "true"),
        (Leaf("absent_ok", "noon"), '"one"'),
        (Leaf("absent_ok", "noon"), "null"),
    ],
)
def test_another_value_does_not(leaf: Leaf, text: str) -> None:
    assert not matches(leaf, parse_exact_json(text))


@pytest.mark.parametrize(
    ("leaf", "may_be_absent"), [(Leaf("absent_ok", 1), True), (Leaf("exact", None), False), (Leaf("set", []), False)]
)
def test_absent_is_not_null(leaf: Leaf, may_be_absent: bool) -> None:
    assert matches(leaf, MISSING) is may_be_absent


@pytest.mark.parametrize(
    ("expected", "arguments", "match"),
    [
        (exactly("f", a=1, b="x"), {"a": 1, "b": "x"}, LeafMatch(2, 2)),
        (exactly("f", a=1, b="x"), {"a": 1}, LeafMatch(1, 2)),
        (exactly("f", a=1), {"a": 1, "b": {"c": 1, "d": 2}}, LeafMatch(1, 1, 2)),
        (exactly("f", a={"b": 1}), {"a": {"b": 1}}, LeafMatch(1, 1)),
        (exactly("f"), {}, LeafMatch(0, 0)),
        (exactly("f"), {"a": None}, LeafMatch(0, 0, 1)),
        (ExpectedCall("f", {"": Leaf("exact", {"a": 1})}), {"a": 1.0}, LeafMatch(1, 1)),
        (ExpectedCall("f", {"/a": Leaf("exact", 1)}, open=True), {"a": 1, "b": 2}, LeafMatch(1, 1)),
        (ExpectedCall("f", {"/a/b": Leaf("absent_ok", 1)}), {"a": {}}, LeafMatch(1, 1)),
        (ExpectedCall("f", {"/a/b": Leaf("absent_ok", 1)}), {"a": 1}, LeafMatch(1, 1, 1)),
        (ExpectedCall("f", {"/a/b": Leaf("absent_ok", 1)}), {}, LeafMatch(1, 1)),
        (ExpectedCall("f", {"/a~1b/0": Leaf("ci", "X")}), {"a/b": ["x", "y"]}, LeafMatch(1, 1, 1)),
    ],
)
def test_a_call_is_compared_leaf_by_leaf(expected: ExpectedCall, arguments: dict[str, Any], match: LeafMatch) -> None:
    assert compare(expected, arguments) == match


def test_a_share_is_of_all_that_was_expected_or_there() -> None:
    assert LeafMatch(2, 3, 1).share == 0.5
    assert LeafMatch(0, 0).share == 1.0
    assert LeafMatch(0, 0).exact
    assert not LeafMatch(3, 3, 1).exact


@given(objects, objects)
@settings(max_examples=50)
def test_only_the_arguments_themselves_are_an_exact_match(arguments: dict[str, Any], others: dict[str, Any]) -> None:
    expected = ExpectedCall("f", {pointer: Leaf("exact", value) for pointer, value in leaves(arguments)})
    assert compare(expected, arguments).exact
    assert compare(expected, others).exact is same(arguments, others)
