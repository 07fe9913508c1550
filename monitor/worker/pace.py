"""A provider's rate, shared by all workers: a request leaves once the bucket in the database has given it a token."""

from __future__ import annotations

import asyncio

from monitor import clock
from monitor.store import Limits


class SharedPace:
    """At most `rpm` requests a minute over all checks of a provider, evenly, and none of this check while the provider
    asks for a pause."""

    def __init__(self, limits: Limits, provider: str, rpm: int) -> None:
        self._limits = limits
        self._bucket = f"provider:{provider}"
        self._rpm = rpm
        self._held_until = 0.0

    async def turn(self) -> None:
        while True:
            wait = self._held_until - clock.monotonic()
            if wait <= 0.0:
                wait = await asyncio.to_thread(self._take)
            if wait <= 0.0:
                return
            await asyncio.sleep(wait)

    def hold(self, seconds: float) -> None:
        self._held_until = max(self._held_until, clock.monotonic() + seconds)

    def _take(self) -> float:
        return self._limits.take_tokens(self._bucket, 1.0, per_minute=float(self._rpm), burst=1.0, at=clock.now())
