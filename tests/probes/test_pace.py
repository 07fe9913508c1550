"""Spacing the requests of a run."""

from __future__ import annotations

import asyncio

from probes.pace import Pace
from tests.endpoints.clock import PatientClock


class Stopped(PatientClock):
    """Time passes only by sleeping."""

    def monotonic(self) -> float:
        return sum(self.slept)


def turns(pace: Pace, count: int) -> None:
    async def take() -> None:
        for _ in range(count):
            await pace.turn()

    asyncio.run(take())


def test_without_a_limit_nobody_waits() -> None:
    clock = Stopped()
    turns(Pace(None, clock), 10)

    assert clock.slept == []


def test_a_limit_spaces_turns_evenly() -> None:
    clock = Stopped()
    turns(Pace(60, clock), 4)

    assert clock.slept == [1.0, 1.0, 1.0]


def test_turns_asked_for_together_are_handed_out_one_by_one() -> None:
    clock = Stopped()
    pace = Pace(60, clock)

    async def together() -> None:
        await asyncio.gather(*(pace.turn() for _ in range(3)))

    asyncio.run(together())

    assert len(clock.slept) == 2
    assert clock.slept[0] == 1.0


def test_a_hold_delays_all_who_come_after_it() -> None:
    clock = Stopped()
    pace = Pace(None, clock)
    pace.hold(5.0)
    pace.hold(2.0)
    turns(pace, 2)

    assert clock.slept == [5.0]
