from __future__ import annotations

from typing import Any

import pytest

from probes.tools.formats import CHECKER, FORMATS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("date", "2024-02-29"),
        ("time", "23:59:59.5+02:00"),
        ("date-time", "2026-05-01t12:00:00z"),
        ("email", "harbour@fowey.example"),
        ("uri", "https://fowey.example/a?b#c"),
        ("uuid", "123E4567-e89b-12d3-a456-426614174000"),
        ("ipv4", "192.0.2.1"),
        ("ipv6", "2001:db8::1"),
        ("date", 20240229),
    ],
)
def test_a_value_of_the_format_conforms(name: str, value: Any) -> None:
    assert CHECKER.conforms(value, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("date", "2023-02-29"),
        ("date", "20230228"),
        ("date", "2023-02-28\n"),
        ("time", "12:00:00"),
        ("date-time", "2026-05-01 12:00:00Z"),
        ("date-time", "2026-05-01T12:00:00"),
        ("email", "harbour"),
        ("uri", "fowey"),
        ("uuid", "1" * 32),
        ("ipv4", "192.0.2.256"),
        ("ipv6", "2001:db8:::1"),
    ],
)
def test_another_does_not(name: str, value: str) -> None:
    assert not CHECKER.conforms(value, name)


def test_these_formats_are_asserted_and_no_others() -> None:
    assert set(CHECKER.checkers) == FORMATS
    assert CHECKER.conforms("(", "regex")
