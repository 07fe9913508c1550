"""`--since` and the like: a time, given as how long ago it was or as a date."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from monitor.errors import UsageError

_AGO = re.compile(r"(\d{1,6})\s*(m|h|d|w)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_since(text: str, now: datetime, option: str = "--since") -> datetime:
    """`90m`, `12h`, `30d`, `4w` before `now`, or an ISO 8601 date or time (in UTC unless it says otherwise).

    Raises UsageError for anything else, and for what lies before year 1.
    """
    try:
        if match := _AGO.fullmatch(text.strip()):
            return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
        when = datetime.fromisoformat(text.strip())
        return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{option} '{text}' is not a time.", remedy="Give how long ago, such as 12h or 30d, or a date: 2026-11-01."
        ) from error
