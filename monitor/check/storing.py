"""Stores answers that come together in one transaction, and lets no request leave while one of them waits for that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from monitor import clock
from monitor.check.brake import Brake
from probes.pace import Turns

# Storing takes at most one part in so many, and makes nobody wait longer than this, however slow the database is.
_PAUSE = 4.0
_LONGEST_PAUSE_S = 0.1


class Storing:
    """The pace of a client whose answers `store` writes down; within one `asyncio.run`.

    An answer is stored at once, or where the last ones were stored just now, after a pause of a few times what that
    took, with all that came meanwhile. A process that dies has paid for no more than what was in flight: who brought an
    answer asks on once it is stored. The brake is pulled for what `store` raises.
    """

    def __init__(self, store: Callable[[], None], pace: Turns, brake: Brake) -> None:
        self._store = store
        self._pace = pace
        self._brake = brake
        self._nothing_waits = asyncio.Event()
        self._nothing_waits.set()
        self._pause_ends = clock.monotonic()

    def soon(self) -> None:
        """An answer waits to be stored."""
        if self._nothing_waits.is_set():
            self._nothing_waits.clear()
            asyncio.get_running_loop().call_later(max(0.0, self._pause_ends - clock.monotonic()), self._store_all)

    async def turn(self) -> None:
        await self._nothing_waits.wait()
        await self._pace.turn()

    def hold(self, seconds: float) -> None:
        self._pace.hold(seconds)

    def _store_all(self) -> None:
        begin = clock.monotonic()
        try:
            self._store()
        except Exception as error:  # noqa: BLE001 - nobody called this: the brake brings it to who asks
            self._brake.pull(error)
            return
        end = clock.monotonic()
        self._pause_ends = end + min(_PAUSE * (end - begin), _LONGEST_PAUSE_S)
        self._nothing_waits.set()
