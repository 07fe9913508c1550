"""What was stored of an exchange is read again into the sample that it was."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from monitor.check.resume import rebuilt, remaining
from monitor.store import StoredSample
from monitor.store.bodies import pack, unpack
from probes import latency, logprobs
from probes.client import Client
from probes.errors import ProbeError
from probes.load import probe as load
from probes.load.times import latency_of
from probes.plan import Plan, Sample
from probes.quirks import Quirk
from probes.target import Target
from tests.endpoints import hostile
from tests.endpoints.lawful import Lawful
from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer

SEED, NONCE = bytes(32), bytes(16)


def asked(plan: Plan, handler: Handler) -> list[Sample]:
    """What the client brings back, also where the provider is given up."""

    async def send(base_url: str) -> list[Sample]:
        target = Target(base_url=base_url, served_name="acme/lark-30b", allow_private=True)
        samples: list[Sample] = []
        async with Client(target) as client:
            with suppress(ProbeError):
                await client.send(plan, on_sample=samples.append)
        return samples

    with ScriptedServer(handler) as server:
        return asyncio.run(send(server.base_url))


def stored(samples: Sequence[Sample]) -> list[StoredSample]:
    """As they come out of the database."""
    return [StoredSample(one.item.key, one.item.rep, one.outcome, unpack(pack(one))) for one in samples]


async def refusing(_: Received, connection: Connection) -> None:
    await connection.reply(403, hostile.error("This model is not yours."))


async def breaking_off(received: Received, connection: Connection) -> None:
    await connection.begin()
    await connection.event({"id": "x", "object": "chat.completion.chunk", "choices": []})
    connection.reset()


async def holding_back(received: Received, connection: Connection) -> None:
    await asyncio.sleep(0.1)
    await Lawful().stream(received.json, connection)


PLANS: dict[str, tuple[Plan, Handler]] = {
    "log-probabilities": (logprobs.plan(SEED, NONCE, n=8, has_reference=True), ScriptedModel()),
    "streams": (latency.plan(SEED, NONCE, streams=3, max_tokens=8), Lawful()),
    "held back": (latency.plan(SEED, NONCE, streams=1, max_tokens=10), holding_back),
    "under load": (load.plan(SEED, NONCE, load.Load(per_second=100.0, each=1, sizes=(50,), replays=1)), Lawful()),
    "refused": (logprobs.plan(SEED, NONCE, n=4, has_reference=False), refusing),
    "broken off": (latency.plan(SEED, NONCE, streams=1), breaking_off),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_stored_sample_is_the_sample_again_with_its_timings(name: str) -> None:
    plan, handler = PLANS[name]
    samples = asked(plan, handler)
    assert samples

    again = rebuilt(plan, stored(samples))

    # Of an answer's headers only those are kept that tell about it.
    assert [without_headers(one) for one in again] == [without_headers(one) for one in samples]


def without_headers(sample: Sample) -> Sample:
    return replace(sample, attempts=tuple(replace(attempt, headers={}) for attempt in sample.attempts))


def test_output_that_was_held_back_is_known_to_have_been() -> None:
    (again,) = rebuilt(PLANS["held back"][0], stored(asked(*PLANS["held back"])))

    assert again.completion is not None
    assert Quirk.BUFFERED_TOKENS in again.completion.quirks


def test_latencies_of_stored_streams_are_what_they_were() -> None:
    plan, handler = PLANS["streams"]
    samples = asked(plan, handler)

    times = [latency_of(one) for one in rebuilt(plan, stored(samples))]

    assert times == [latency_of(one) for one in samples]
    assert all(one is not None and one.ttft > 0.0 for one in times)


def test_only_what_was_not_answered_is_asked_in_the_plans_order() -> None:
    plan, handler = PLANS["log-probabilities"]
    samples = stored(asked(plan, handler))

    left = remaining(plan, samples[2:5])

    known = {(one.item_key, one.rep) for one in samples[2:5]}
    assert left.items == tuple(item for item in plan.items if (item.key, item.rep) not in known)
    assert remaining(plan, samples).items == ()


def test_what_was_stored_before_timings_were_kept_is_still_read() -> None:
    plan, handler = PLANS["log-probabilities"]
    samples = asked(plan, handler)
    old = [replace(one, exchange=replace(one.exchange, timings=None)) for one in stored(samples) if one.exchange]

    again = rebuilt(plan, old)

    assert [logprobs.first_token(one) for one in again] == [logprobs.first_token(one) for one in samples]


def test_a_sample_whose_exchange_is_gone_is_neither_read_nor_asked_again() -> None:
    plan, handler = PLANS["log-probabilities"]
    samples = [replace(one, exchange=None) for one in stored(asked(plan, handler))]

    assert rebuilt(plan, samples) == []
    assert remaining(plan, samples).items == ()
