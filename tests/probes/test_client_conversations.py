"""Conversations with real servers: what is asked next hangs on what came, and the rest is as for a plan."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from probes.client import Ask, Client
from probes.errors import ProbeError, ProviderAuthError
from probes.plan import Sample
from tests.endpoints import hostile
from tests.endpoints.clock import PatientClock
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer
from tests.probes.sending import completion_of, item, target


async def word_by_word(ask: Ask, name: str, turns: int) -> str:
    """Says back what was answered, and asks for one word more each time."""
    said: list[str] = [name]
    for turn in range(turns):
        messages = [{"role": "user", "content": " ".join(said)}]
        sample = await ask(item(turn, messages=messages, max_tokens=turn + 1))
        said.append(completion_of(sample).content or "")
    return "|".join(said)


def converse(
    handler: Handler, count: int, turns: int = 2, *, concurrency: int = 4, seen: list[Sample] | None = None
) -> tuple[list[str], ScriptedServer]:
    async def run(base_url: str) -> list[str]:
        settings = target(base_url, max_concurrency=concurrency)
        async with Client(settings, clock=PatientClock()) as client:
            conversations = [partial(word_by_word, name=f"c{number}", turns=turns) for number in range(count)]
            return await client.converse(conversations, on_sample=None if seen is None else seen.append)

    with ScriptedServer(handler) as server:
        return asyncio.run(run(server.base_url)), server


def test_what_is_asked_next_hangs_on_what_came_and_ends_come_in_order() -> None:
    seen: list[Sample] = []

    ends, server = converse(Lawful(), 6, seen=seen)

    assert ends == [f"c{number}|Rain|Rain fell" for number in range(6)]
    assert len(seen) == len(server.received) == 12
    contents = {received.json["messages"][0]["content"] for received in server.received}
    assert contents == {text for number in range(6) for text in (f"c{number}", f"c{number} Rain")}


def test_as_many_conversations_as_the_target_allows_go_side_by_side() -> None:
    together = asyncio.Event()
    asked = 0

    async def waits_for_three(received: Received, connection: Connection) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:  # the first goes alone
            if asked >= 4:
                together.set()
            await together.wait()
        await Lawful()(received, connection)

    ends, server = converse(waits_for_three, 5, concurrency=3)

    assert len(ends) == 5
    assert server.most_in_flight == 3


def test_an_endpoint_that_cannot_be_used_costs_one_request() -> None:
    with pytest.raises(ProviderAuthError) as raised:
        converse(hostile.unauthorized, 8)

    assert len(raised.value.samples) == 1


def test_no_second_request_leaves_before_one_has_succeeded() -> None:
    rejects = hostile.first(2, hostile.always(400, hostile.error("No.")))

    async def run(base_url: str) -> int:
        async with Client(target(base_url), clock=PatientClock()) as client:

            async def once(ask: Ask) -> bool:
                return (await ask(item())).completion is not None

            return len(await client.converse([once] * 4))

    with ScriptedServer(rejects) as server:
        assert asyncio.run(run(server.base_url)) == 4
        assert server.most_in_flight == 1


def test_what_the_budget_hook_raises_ends_all_conversations() -> None:
    class SpentError(Exception):
        pass

    seen: list[Sample] = []

    async def run(base_url: str) -> None:
        def spend(sample: Sample) -> None:
            seen.append(sample)
            if len(seen) >= 5:
                raise SpentError

        async with Client(target(base_url), clock=PatientClock()) as client:
            await client.converse([partial(word_by_word, name="c", turns=9)] * 4, on_sample=spend)

    with ScriptedServer(Lawful()) as server, pytest.raises(SpentError):
        asyncio.run(run(server.base_url))

    assert 5 <= len(seen) <= 5 + 3  # what had come by then counts too


def test_a_provider_that_fails_all_along_ends_them_with_the_samples_that_were_done() -> None:
    with pytest.raises(ProbeError) as raised:
        converse(hostile.first(3, Lawful(), hostile.html(500)), 40, turns=3)

    assert raised.value.samples
