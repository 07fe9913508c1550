from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.store.text import foreign_id, foreign_text, json_digest


@given(st.text(st.characters(), max_size=300), st.integers(min_value=1, max_value=64))
def test_foreign_text_fits_a_column_of_any_database(text: str, limit: int) -> None:
    kept = foreign_text(text, limit)

    assert kept is not None
    assert len(kept) <= limit
    assert "\x00" not in kept
    kept.encode()


def test_a_key_that_an_endpoint_repeats_is_not_kept(secret: str) -> None:
    assert foreign_text(f"req-{secret}-1", 64) == "req-[redacted]-1"


def test_no_text_stays_none() -> None:
    assert foreign_text(None, 8) is None


def test_ordinary_text_stays_as_it_is() -> None:
    assert foreign_text("fp_9a1c \u00e9\u4e2d", 64) == "fp_9a1c \u00e9\u4e2d"


def test_equal_values_have_equal_digests_whatever_the_order_of_their_keys() -> None:
    assert json_digest({"a": 1, "b": [2, 3]}) == json_digest({"b": [2, 3], "a": 1})
    assert json_digest({"b": [3, 2], "a": 1}) != json_digest({"a": 1, "b": [2, 3]})


@pytest.mark.parametrize("name", ["chatcmpl-7f01", "fp_44709d6fcb", "gen-1/2:3", None, "日本"])
def test_an_identifier_is_kept(name: str | None) -> None:
    assert foreign_id(name, 64) == name


def test_what_may_be_a_repeated_prompt_is_kept_as_a_digest_that_tells_it_from_others() -> None:
    first, second = foreign_id("a private prompt", 64), foreign_id("another prompt", 64)
    assert first is not None
    assert first.startswith("sha256:")
    assert "private" not in first
    assert first != second
    assert foreign_id("a private prompt", 64) == first
