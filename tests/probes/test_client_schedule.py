"""A schedule is kept to, and what could not be kept to is laid at the right door."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from probes.client import Client
from probes.plan import Outcome, Plan, ProbeKind, Sample
from tests.endpoints import hostile
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.endpoints.told_clock import ToldClock
from tests.probes.sending import plan, send, target


def scheduled(due: Sequence[float]) -> Plan:
    """Streams that say their place in `user`."""
    items = plan(len(due), probe=ProbeKind.LATENCY, stream=True).items
    return Plan(
        ProbeKind.LATENCY,
        tuple(
            replace(item, at=at, request={**item.request, "user": str(place)})
            for place, (item, at) in enumerate(zip(items, due, strict=True))
        ),
        "0" * 64,
        "1",
    )


@dataclass(frozen=True)
class Holding:
    """A pace that lets a request go after so many seconds."""

    clock: ToldClock
    seconds: float

    async def turn(self) -> None:
        await self.clock.sleep(self.seconds)

    def hold(self, seconds: float) -> None:
        """Nobody asks for more."""


def told(due: Sequence[float], takes: Mapping[int, float], *, holds: float = 0.0) -> list[Sample]:
    """Samples of one connection, on a clock on which the answer to a place takes as long as `takes` says."""
    clock = ToldClock()

    async def answer(received: Received, connection: Connection) -> None:
        clock.passed += takes.get(int(received.json["user"]), 0.0)
        await Lawful()(received, connection)

    async def run(base_url: str) -> list[Sample]:
        asked = target(base_url, max_concurrency=1)
        async with Client(asked, clock=clock, pace=Holding(clock, holds)) as client:
            return await client.send(scheduled(due))

    with ScriptedServer(answer) as server:
        return asyncio.run(run(server.base_url))


def test_requests_leave_when_they_are_due_though_none_before_was_answered() -> None:
    width, arrived = 5, 0
    all_there: list[asyncio.Event] = []

    async def answer(received: Received, connection: Connection) -> None:
        nonlocal arrived
        arrived += 1
        if arrived == 1:
            all_there.append(asyncio.Event())
        if arrived == 1 + width:
            all_there[0].set()
        elif arrived > 1:
            await all_there[0].wait()
        await Lawful()(received, connection)

    with ScriptedServer(answer) as server:
        samples = send(target(server.base_url, max_concurrency=width), scheduled([0.0] * (2 * width))).samples

    assert [sample.outcome for sample in samples] == [Outcome.OK] * 2 * width
    assert server.most_in_flight == width


def test_what_came_late_by_the_endpoints_doing_is_late() -> None:
    samples = told([0.0, 1.0, 2.0, 3.0], {1: 1.5})

    assert [sample.late_s for sample in samples] == pytest.approx([0.0, 0.0, 0.5, 0.0])
    assert [sample.held_s for sample in samples] == [0.0] * 4


def test_the_first_request_goes_alone_and_makes_nobody_late() -> None:
    samples = told([0.0, 1.0, 2.0], {0: 60.0})

    assert [sample.late_s for sample in samples] == pytest.approx([0.0, 0.0, 0.0])


def test_a_schedule_of_which_the_beginning_was_sent_before_begins_at_once() -> None:
    samples = told([100.0, 101.0], {})

    assert [sample.late_s for sample in samples] == pytest.approx([0.0, 0.0])


def test_what_our_own_pace_held_back_is_told_apart() -> None:
    samples = told([0.0, 10.0, 20.0], {}, holds=3.0)

    assert [sample.late_s for sample in samples] == pytest.approx([3.0, 3.0, 3.0])
    assert [sample.held_s for sample in samples] == pytest.approx([3.0, 3.0, 3.0])


def test_failures_under_load_end_nothing_and_a_prompt_that_is_too_long_is_refused() -> None:
    async def overloaded(received: Received, connection: Connection) -> None:
        place = int(received.json["user"])
        if place == 0:
            await Lawful()(received, connection)
        elif place % 2:
            await connection.reply(400, hostile.error("This model's maximum context length is 2048 tokens."))
        else:
            await connection.reply(500, hostile.error("The engine is overloaded."))

    with ScriptedServer(overloaded) as server:
        answers = send(target(server.base_url), scheduled([0.0] * 21))

    assert answers.error is None
    outcomes = [sample.outcome for sample in answers.samples]
    assert outcomes == [Outcome.OK, *[Outcome.REFUSED, Outcome.HTTP_ERROR] * 10]
    assert all(sample.attempts[-1].error is None for sample in answers.samples[1::2])
