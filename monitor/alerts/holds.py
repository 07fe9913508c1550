"""What holds back the notices of an alert from outside: a silence, a maintenance window, a larger fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.alerts.inhibit import Conditions, Subject, inhibited_by
from monitor.config.matching import matches
from monitor.config.windows import open_until

if TYPE_CHECKING:
    from monitor.config.service import Maintenance


@dataclass(frozen=True, slots=True)
class Silence:
    """From `starts_at` up to `ends_at`, for alerts whose labels match."""

    id: str
    matchers: Mapping[str, str]
    starts_at: datetime
    ends_at: datetime

    def covers(self, labels: Mapping[str, str], at: datetime) -> bool:
        return self.starts_at <= at < self.ends_at and matches(self.matchers, labels)


@dataclass(frozen=True, slots=True)
class Holds:
    """The ids of what holds an alert's notices back, and until when that lasts where it is known."""

    silence: str | None = None
    maintenance: str | None = None
    inhibitor: str | None = None
    until: datetime | None = None

    def __bool__(self) -> bool:
        return any((self.silence, self.maintenance, self.inhibitor))


def maintenance_of(
    windows: Iterable[Maintenance], labels: Mapping[str, str], at: datetime
) -> tuple[Maintenance, datetime] | None:
    """The window that covers these labels, and when it closes; of several the one that is open longest."""
    ends = [(window, open_until(window, at)) for window in windows if matches(window.match, labels)]
    return max(((window, end) for window, end in ends if end is not None), key=lambda found: found[1], default=None)


def holds_of(
    alert: Subject,
    at: datetime,
    *,
    silences: Iterable[Silence] = (),
    windows: Iterable[Maintenance] = (),
    others: Iterable[Subject] = (),
    conditions: Conditions | None = None,
) -> Holds:
    """Everything that holds the alert's notices back at `at`. `others` are the open alerts beside it."""
    silence = max(
        (found for found in silences if found.covers(alert.labels, at)), key=lambda one: one.ends_at, default=None
    )
    window = maintenance_of(windows, alert.labels, at)
    ends = [*([silence.ends_at] if silence else []), *([window[1]] if window else [])]
    return Holds(
        silence=silence.id if silence else None,
        maintenance=window[0].id if window else None,
        inhibitor=inhibited_by(alert, others, conditions or Conditions()),
        until=max(ends, default=None),
    )
