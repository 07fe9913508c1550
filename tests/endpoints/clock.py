"""A clock on which waiting takes no time, so that retries and pauses can be asserted instead of sat through."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime


class PatientClock:
    """`sleep` moves `monotonic` on by what was asked for, and returns at once. `slept` holds every wait, in order."""

    def __init__(self, now: datetime = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)) -> None:
        self.slept: list[float] = []
        self._now = now

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return time.perf_counter() + sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)
