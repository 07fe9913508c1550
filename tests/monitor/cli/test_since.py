from __future__ import annotations

from datetime import UTC, datetime

import pytest

from monitor.cli.since import parse_since
from monitor.errors import UsageError

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("90m", datetime(2026, 11, 29, 10, 30, tzinfo=UTC)),
        ("12h", datetime(2026, 11, 29, 0, 0, tzinfo=UTC)),
        (" 30 d ", datetime(2026, 10, 30, 12, 0, tzinfo=UTC)),
        ("4w", datetime(2026, 11, 1, 12, 0, tzinfo=UTC)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T06:00+02:00", datetime(2026, 11, 1, 4, 0, tzinfo=UTC)),
        ("2026-11-01T06:00Z", datetime(2026, 11, 1, 6, 0, tzinfo=UTC)),
    ],
)
def test_a_time(text: str, when: datetime) -> None:
    assert parse_since(text, NOW) == when


@pytest.mark.parametrize("text", ["", "yesterday", "30", "-3d", "1.5d", "999999w", "2026-13-01", "٣d x"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        parse_since(text, NOW)
