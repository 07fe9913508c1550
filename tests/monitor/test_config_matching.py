"""Matchers: which labels they fit."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config.matching import fits, matches

LABELS = {"provider": "acme", "tier": "prod"}


@pytest.mark.parametrize(
    ("matchers", "expected"),
    [
        ({}, True),
        ({"tier": "prod"}, True),
        ({"tier": "prod", "provider": "acme"}, True),
        ({"tier": "prod", "provider": "bolt"}, False),
        ({"tier": "p*d", "provider": "*"}, True),
        ({"region": "*"}, False),
        ({"tier": "Prod"}, False),
        ({"tier": "pro."}, False),
    ],
)
def test_every_label_that_is_named_has_to_fit(matchers: dict[str, str], expected: bool) -> None:
    assert matches(matchers, LABELS) is expected


@given(pattern=st.text("ab*.\n", max_size=8), text=st.text("ab.\n", max_size=10))
def test_a_star_stands_for_any_characters_and_nothing_else_is_special(pattern: str, text: str) -> None:
    expression = ".*".join(re.escape(part) for part in pattern.split("*"))

    assert fits(pattern, text) == (re.fullmatch(expression, text, re.DOTALL) is not None)
