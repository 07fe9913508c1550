"""Items that leave at a time of their own, whatever becomes of the others."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from probes.clock import SystemClock
from probes.plan import Plan, ProbeKind, Sample
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.probes.sending import plan, send, target

STALL_S = 0.4
EVERY_S = 0.02
COUNT = 10


def scheduled() -> Plan:
    made = plan(COUNT, probe=ProbeKind.LATENCY)
    return replace(made, items=tuple(replace(one, at=EVERY_S * place) for place, one in enumerate(made.items)))


def against_a_stall(made: Plan, *, width: int) -> list[Sample]:
    """The samples of a server that stands still for a while, with all its requests, once the third has come."""
    seen = 0
    until = 0.0

    async def stalling(received: Received, connection: Connection) -> None:
        nonlocal seen, until
        seen += 1
        now = asyncio.get_running_loop().time()
        if seen == 3:
            until = now + STALL_S
        await asyncio.sleep(max(0.0, until - now))
        await Lawful()(received, connection)

    with ScriptedServer(stalling) as server:
        return send(target(server.base_url, max_concurrency=width), made, clock=SystemClock()).samples


def slow(seconds: list[float]) -> int:
    return sum(value > STALL_S / 4 for value in seconds)


def from_due(samples: list[Sample]) -> list[float]:
    return [(sample.late_s or 0.0) + sample.attempts[-1].seconds for sample in samples]


def test_waiting_for_each_answer_hides_a_stall_from_most_requests() -> None:
    samples = against_a_stall(plan(COUNT, probe=ProbeKind.LATENCY), width=COUNT)

    assert slow([sample.attempts[-1].seconds for sample in samples]) < COUNT // 2
    assert all(sample.late_s is None for sample in samples)


def test_a_schedule_shows_it_to_every_request_that_was_due_meanwhile() -> None:
    samples = against_a_stall(scheduled(), width=COUNT)

    assert slow(from_due(samples)) >= COUNT - 2


def test_a_request_that_had_to_wait_for_a_connection_counts_from_when_it_was_due() -> None:
    samples = against_a_stall(scheduled(), width=1)

    assert slow([sample.attempts[-1].seconds for sample in samples]) < COUNT // 2
    assert slow(from_due(samples)) >= COUNT - 2


def test_nothing_leaves_before_it_is_due() -> None:
    with ScriptedServer(Lawful()) as server:
        samples = send(target(server.base_url), scheduled(), clock=SystemClock()).samples

    assert all(sample.late_s is not None and sample.late_s >= 0 for sample in samples)
    first, last = samples[0].attempts[0].sent_at, samples[-1].attempts[0].sent_at
    assert (last - first).total_seconds() >= EVERY_S * (COUNT - 1) * 0.9
