"""A clock that a test moves on: what an answer takes on it is what the test says, on however slow a machine."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


class ToldClock:
    """`passed` is moved by a wait, and by whatever a test says has taken time."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now(self) -> datetime:
        return _START + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed

    async def sleep(self, seconds: float) -> None:
        self.passed += seconds
        await asyncio.sleep(0)
