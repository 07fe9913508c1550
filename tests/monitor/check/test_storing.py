from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from monitor.check.brake import Brake
from monitor.check.storing import Storing
from monitor.errors import StorageError
from probes.clock import SystemClock
from probes.pace import Pace


@dataclass
class Answers:
    """What came, and in which groups it was stored."""

    waiting: list[int] = field(default_factory=list)
    stored: list[list[int]] = field(default_factory=list)

    def store(self) -> None:
        self.stored.append(self.waiting)
        self.waiting = []


def storing(store: Callable[[], None], brake: Brake | None = None) -> Storing:
    return Storing(store, Pace(None, SystemClock()), brake or Brake())


def test_answers_that_come_together_are_stored_together_before_any_asks_on() -> None:
    answers = Answers()

    async def run() -> None:
        group = storing(answers.store)

        async def answer(number: int) -> None:
            answers.waiting.append(number)
            group.soon()
            await group.turn()
            assert not answers.waiting

        await asyncio.gather(*map(answer, range(8)))

    asyncio.run(run())
    assert answers.stored == [list(range(8))]


def test_what_comes_right_after_a_slow_transaction_waits_for_more() -> None:
    answers = Answers()

    def slowly() -> None:
        time.sleep(0.01)
        answers.store()

    async def run() -> None:
        group = storing(slowly)
        answers.waiting.append(0)
        group.soon()
        await group.turn()
        for number in range(1, 5):
            answers.waiting.append(number)
            group.soon()
            await asyncio.sleep(0)
        await group.turn()

    asyncio.run(run())
    assert answers.stored == [[0], [1, 2, 3, 4]]


def test_an_answer_that_comes_alone_is_stored_alone() -> None:
    answers = Answers()

    async def run() -> None:
        group = storing(answers.store)
        for number in range(3):
            answers.waiting.append(number)
            group.soon()
            await group.turn()

    asyncio.run(run())
    assert answers.stored == [[0], [1], [2]]


def test_what_storing_raises_ends_the_asking() -> None:
    brake = Brake()

    def full_disk() -> None:
        raise StorageError("full")

    async def run() -> None:
        group = storing(full_disk, brake)
        with brake.on_this_task():
            group.soon()
            await group.turn()
            raise AssertionError("asked on")

    with pytest.raises(StorageError, match="full"):
        asyncio.run(run())
