"""Whether the service does its work: pure rules over what it left in the database and whether its broker answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

TICK_WITHIN = timedelta(seconds=60)
CANARY_WITHIN = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class Signs:
    """`broker` is whether it answers; `tick_at` and `canary_at` are when such a task was last executed by a worker."""

    broker: bool
    tick_at: datetime | None
    canary_at: datetime | None


@dataclass(frozen=True, slots=True)
class Lacking:
    """One thing that keeps the service from its work: its name, and a sentence."""

    name: str
    sentence: str


def lacking(signs: Signs, now: datetime) -> tuple[Lacking, ...]:
    """What is not as it should be; empty where the service does its work."""
    found = []
    if not signs.broker:
        found.append(Lacking("broker", "The broker does not answer."))
    if not _recent(signs.tick_at, TICK_WITHIN, now):
        found.append(Lacking("tick", _told("tick", signs.tick_at, TICK_WITHIN, now)))
    if not _recent(signs.canary_at, CANARY_WITHIN, now):
        found.append(Lacking("canary", _told("canary task", signs.canary_at, CANARY_WITHIN, now)))
    return tuple(found)


def _recent(at: datetime | None, within: timedelta, now: datetime) -> bool:
    return at is not None and now - at < within


def _told(what: str, at: datetime | None, within: timedelta, now: datetime) -> str:
    limit = f"{within.total_seconds():.0f} s ago"
    if at is None:
        return f"No {what} was ever executed; one should have been less than {limit}."
    return f"The last {what} was executed {(now - at).total_seconds():.0f} s ago; it should be less than {limit}."
