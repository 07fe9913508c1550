"""How far this machine's clock is from those of the providers, as their answers date themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime

from monitor.config.schema import Provider
from probes.address import policy_for
from probes.clock import SystemClock
from probes.errors import ProbeError
from probes.transport import Transport

_TIMEOUT_S = 5.0


def clock_skews(providers: Sequence[Provider]) -> dict[str, float | None]:
    """Seconds by which a provider's clock is ahead, by slug; None where it did not answer or gave no date.

    One HEAD request to each, without a key.
    """
    return asyncio.run(_all(providers))


async def _all(providers: Sequence[Provider]) -> dict[str, float | None]:
    found = await asyncio.gather(*(_one(provider) for provider in providers))
    return {provider.slug: skew for provider, skew in zip(providers, found, strict=True)}


async def _one(provider: Provider) -> float | None:
    clock = SystemClock()
    transport = Transport(policy_for(provider.allow_private), clock=clock, max_connections=1)
    try:
        async with (
            asyncio.timeout(_TIMEOUT_S),
            transport,
            transport.exchange("HEAD", provider.base_url, headers={}) as response,
        ):
            return skew(response.headers.get("date"), clock.now())
    except (ProbeError, TimeoutError):
        return None


def skew(date: str | None, now: datetime) -> float | None:
    """Seconds by which a Date header is ahead of `now`; None where it cannot be read."""
    try:
        return (parsedate_to_datetime(date or "") - now).total_seconds()
    except (ValueError, TypeError):  # TypeError: a date without a zone
        return None
