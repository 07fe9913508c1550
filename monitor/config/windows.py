"""When a maintenance window is open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from monitor.config.times import recurrence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dateutil.rrule import rrule

    from monitor.config.service import Maintenance

# By more than any time zone's clocks are ever moved.
_MARGIN = timedelta(days=1)


def open_until(window: Maintenance, at: datetime) -> datetime | None:
    """When the window that is open at `at` ends, in UTC; None while it is closed."""
    duration = timedelta(seconds=window.duration)
    ends = [start + duration for start in _starts(window, at, duration) if start <= at < start + duration]
    return max(ends, default=None)


def _starts(window: Maintenance, at: datetime, duration: timedelta) -> Iterator[datetime]:
    zone = ZoneInfo(window.tz)
    for local in _local_starts(window, at.astimezone(zone).replace(tzinfo=None), duration):
        yield local.replace(tzinfo=zone).astimezone(UTC)


def _local_starts(window: Maintenance, now: datetime, duration: timedelta) -> list[datetime]:
    if window.rrule is None:
        return [] if window.starts is None else [window.starts]
    return _rule(window.rrule, window.starts).between(now - duration - _MARGIN, now + _MARGIN, inc=True)


# A rule remembers the times that it has found.
@lru_cache(maxsize=256)
def _rule(text: str, starts: datetime | None) -> rrule:
    return recurrence(text, starts)
