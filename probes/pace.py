"""Spaces the requests of one run: at most `rpm` a minute, evenly, and none while the provider asks for a pause."""

from __future__ import annotations

from typing import Protocol

from probes.clock import Clock


class Turns(Protocol):
    """Who says when the next request may leave."""

    async def turn(self) -> None: ...

    def hold(self, seconds: float) -> None: ...


class Pace:
    """Requests take turns in the order they ask. Even spacing keeps a monitor from being the load it measures."""

    def __init__(self, rpm: int | None, clock: Clock) -> None:
        self._interval = 60.0 / rpm if rpm else 0.0
        self._clock = clock
        self._next = clock.monotonic()

    async def turn(self) -> None:
        """Wait until the next request may leave."""
        now = self._clock.monotonic()
        start = max(now, self._next)
        self._next = start + self._interval
        if start > now:
            await self._clock.sleep(start - now)

    def hold(self, seconds: float) -> None:
        """Let no request leave for this long: a 429 to one is meant for all."""
        self._next = max(self._next, self._clock.monotonic() + seconds)
