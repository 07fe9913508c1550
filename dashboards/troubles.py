"""What is wrong with the monitor itself, in sentences for the banner on top of the overview."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from dashboards.numbers import minute, span
from monitor.service.readiness import TICK_WITHIN
from monitor.store.channel_health import DEGRADED_AFTER
from monitor.store.pages_queries import Upkeep
from monitor.worker.canary import Connectivity
from monitor.worker.tick import Ticking

# Events of ours without a state that could be looked up are shown for so long.
RECENT = timedelta(hours=1)


def troubles(
    upkeep: Upkeep, ticking: Ticking | None, connectivity: Connectivity | None, config_problem: str, now: datetime
) -> list[str]:
    return [
        *_configuration(config_problem),
        *_work(ticking, now),
        *_connectivity(connectivity, now),
        *_channels(upkeep),
        *(notice.reason for notice in upkeep.notices if notice.channel is None and notice.reason),
    ]


def _configuration(problem: str) -> Iterator[str]:
    if problem:
        yield f"The stored configuration cannot be used, and the last good one still holds: {problem}"


def _work(ticking: Ticking | None, now: datetime) -> Iterator[str]:
    if ticking is None:
        yield "No worker has run yet: nothing is checked by itself, and no notice is sent."
    elif now - ticking.at > TICK_WITHIN:
        yield f"No worker has worked for {span(now - ticking.at)}: nothing is checked, and no notice is sent."


def _connectivity(connectivity: Connectivity | None, now: datetime) -> Iterator[str]:
    if connectivity is not None and connectivity.since is not None and connectivity.offline_at(now):
        yield f"Nothing outside can be reached since {minute(connectivity.since)} UTC; no provider is blamed for it."


def _channels(upkeep: Upkeep) -> Iterator[str]:
    for channel in upkeep.channels:
        reason = channel.reason or "no reason is known"
        if channel.disabled_at is not None:
            yield f"Channel {channel.channel} is switched off: {reason}."
        elif channel.failures >= DEGRADED_AFTER:
            yield f"Channel {channel.channel} has failed {channel.failures} times in a row: {reason}."
