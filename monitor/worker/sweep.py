"""Finds the checks whose bell was not heard or whose worker was lost, and rings for them again."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from monitor.store import Swept
from monitor.worker.context import Context
from monitor.worker.names import EXECUTE, FAN_OUT

# Of the time between two sweeps: what was rung in this one is rung again in the next.
_RING_AGAIN_PART = 2 / 3

_log = logging.getLogger(__name__)


def sweep(context: Context, now: datetime) -> Swept:
    again = timedelta(seconds=context.settings.sweep_seconds * _RING_AGAIN_PART)
    swept = context.queue.sweep(now, again)
    if swept.to_ring:
        context.bell.ring(EXECUTE, *swept.to_ring)
        context.queue.rung(swept.to_ring, now)
    if swept.failed or swept.expired:
        context.bell.ring(FAN_OUT)
    for what, ids in (("failed", swept.failed), ("expired", swept.expired)):
        if ids:
            _log.warning("%d checks %s, the first of them %s.", len(ids), what, ids[0])
    return swept
