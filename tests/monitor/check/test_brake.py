from __future__ import annotations

import asyncio
from threading import Thread

import pytest

from monitor.check.brake import Brake


class PulledError(Exception):
    pass


def test_what_waits_is_stopped_from_another_thread_with_the_reason() -> None:
    brake = Brake()

    async def wait() -> None:
        with brake.on_this_task():
            Thread(target=brake.pull, args=(PulledError(),)).start()
            await asyncio.Event().wait()

    with pytest.raises(PulledError):
        asyncio.run(wait())


def test_what_would_begin_later_does_not() -> None:
    brake = Brake()
    brake.pull(PulledError())

    async def begin() -> None:
        with brake.on_this_task():
            raise AssertionError("begun")

    with pytest.raises(PulledError):
        asyncio.run(begin())


def test_only_the_first_reason_counts() -> None:
    brake = Brake()
    brake.pull(PulledError())
    brake.pull(RuntimeError())

    with pytest.raises(PulledError):
        brake.check()


def test_a_brake_that_is_not_pulled_lets_other_cancellations_be() -> None:
    async def cancelled() -> None:
        with Brake().on_this_task():
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
