"""Whether a worker has stopped working without knowing it: pure, over what it finished and what waits for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

STALLED_AFTER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Labour:
    """`progress_at` is when the worker last finished a task or began to live, `due_since` since when the oldest work
    waits (None: nothing does), `busy_until` the end of the last lease that it holds (None: of none)."""

    progress_at: datetime
    due_since: datetime | None
    busy_until: datetime | None


def stalled(labour: Labour, now: datetime) -> bool:
    """Whether it finished nothing for too long while work was due all that time, and works on nothing either."""
    if labour.due_since is None or (labour.busy_until is not None and labour.busy_until > now):
        return False
    return now - max(labour.progress_at, labour.due_since) > STALLED_AFTER
