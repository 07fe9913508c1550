"""Deletes what the configuration keeps no longer, a little at a time, so that checks never wait for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from monitor import clock
from monitor.store import retention
from monitor.store.retention import Prune

if TYPE_CHECKING:
    from monitor.worker.context import Context

# In the table of settings: when it was begun last.
PRUNED = "pruned"
_EVERY = timedelta(hours=1)
_AT_MOST_S = 120.0
_PAUSE_S = 0.05
_PROCESSES_REMEMBERED = timedelta(days=7)


def is_due(context: Context, now: datetime) -> bool:
    """However often the service was started anew meanwhile. A time ahead of ours is from before the clock was set
    back."""
    last = context.beats.setting(PRUNED)
    return last is None or not -_EVERY < now - datetime.fromisoformat(last) < _EVERY


def prune(context: Context, now: datetime) -> int:
    """How many rows were deleted; what is left when the time is up waits for the next time."""
    context.beats.put_setting(PRUNED, now.isoformat(), now)
    kept = context.configured().config.file.retention
    ages: list[tuple[Prune, float]] = [
        (retention.bodies, kept.bodies),
        (retention.samples, kept.samples),
        (retention.points, kept.samples),
        (retention.hours, kept.rollups_hour),
        (retention.news, kept.deliveries),
    ]
    until = clock.monotonic() + _AT_MOST_S
    deleted = 0
    for what, seconds in ages:
        before = now - timedelta(seconds=seconds)
        while clock.monotonic() < until and (some := context.retention.prune(what, before, now)):
            deleted += some
            # Let others write in between.
            if context.stop.wait(_PAUSE_S):
                return deleted
    deleted += context.deliveries.prune(now - timedelta(seconds=kept.deliveries))
    context.idempotency.prune(now)
    context.retention.forget_processes(now - _PROCESSES_REMEMBERED)
    return deleted
