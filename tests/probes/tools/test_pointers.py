from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.tools.pointers import MISSING, below, leaves, resolve, upward

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("a/~0 1", max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
@settings(max_examples=50)
def test_every_leaf_is_found_at_its_place(value: Any) -> None:
    for pointer, leaf in leaves(value):
        assert resolve(pointer, value) is leaf


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", {"a": [10, 11], "b/c": {"~": None}}),
        ("/a/1", 11),
        ("/b~1c/~0", None),
        ("/a/2", MISSING),
        ("/a/01", MISSING),
        ("/a/-", MISSING),
        ("/a/٣", MISSING),
        ("/a/" + "1" * 5_000, MISSING),
        ("/a/1/x", MISSING),
        ("/c", MISSING),
    ],
)
def test_a_pointer_leads_to_a_value_or_nowhere(pointer: str, found: Any) -> None:
    assert resolve(pointer, {"a": [10, 11], "b/c": {"~": None}}) == found


def test_leaves_are_scalars_and_empty_containers() -> None:
    assert dict(leaves({"a": [1, {}], "b": {"c": []}, "d": None})) == {"/a/0": 1, "/a/1": {}, "/b/c": [], "/d": None}
    assert dict(leaves({})) == {"": {}}


def test_steps_are_escaped() -> None:
    assert below("/a", "b/~c") == "/a/b~1~0c"
    assert list(upward("/a/0/b")) == ["/a/0/b", "/a/0", "/a", ""]
