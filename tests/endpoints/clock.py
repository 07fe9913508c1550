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


class TickingClock(PatientClock):
    """A patient clock on which every look takes the same time, so that what comes in pieces comes at an even pace,
    however a machine delivers it."""

    def __init__(self, step: float = 0.01) -> None:
        super().__init__()
        self._step = step
        self._looks = 0

    def monotonic(self) -> float:
        self._looks += 1
        return self._looks * self._step + sum(self.slept)
