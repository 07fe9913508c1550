"""An endpoint that is known to answer, as a reference is: nothing goes alone, and its refusals are its answers."""

from __future__ import annotations

import asyncio

from probes.client import Client
from probes.plan import Outcome, Sample
from tests.endpoints import hostile
from tests.endpoints.clock import PatientClock
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer
from tests.probes.sending import plan, target

LONG_S = 1000.0


def passed_on(handler: Handler, count: int, *, sends_for_s: float | None = None) -> list[Sample]:
    """With each answer a long time passes."""
    samples: list[Sample] = []
    clock = PatientClock()

    def on_sample(sample: Sample) -> None:
        samples.append(sample)
        clock.slept.append(LONG_S)

    async def run(base_url: str) -> None:
        async with Client(target(base_url), clock=clock, known=True) as client:
            await client.pass_on(plan(count), on_sample, sends_for_s=sends_for_s)

    with ScriptedServer(handler) as server:
        asyncio.run(run(server.base_url))
    return samples


def when_four_are_there() -> Handler:
    together = asyncio.Event()
    asked = 0

    async def answer(received: Received, connection: Connection) -> None:
        nonlocal asked
        asked += 1
        if asked == 4:
            together.set()
        await together.wait()
        await Lawful()(received, connection)

    return answer


def test_as_many_as_are_allowed_leave_at_once() -> None:
    assert len(passed_on(when_four_are_there(), 6)) == 6


def test_when_the_time_is_up_nothing_more_leaves_and_what_is_on_its_way_is_waited_for() -> None:
    assert len(passed_on(when_four_are_there(), 40, sends_for_s=LONG_S / 2)) == 4


def test_that_every_request_is_turned_down_ends_nothing() -> None:
    samples = passed_on(hostile.always(400, hostile.error("Bad request")), 40)

    assert [sample.outcome for sample in samples] == [Outcome.HTTP_ERROR] * 40
