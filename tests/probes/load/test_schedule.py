"""Streams that are due at random times, through a server that is slow now and then."""

from __future__ import annotations

import asyncio
import math
from itertools import pairwise

import pytest

from probes.clock import SystemClock
from probes.grammar import Draw
from probes.load.schedule import plan, poisson
from probes.load.summary import Promise, figures, goodput
from probes.load.times import latency_of
from probes.plan import ProbeKind
from tests.endpoints.lawful import WORDS, Lawful
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.probes.sending import send, target

SEED, NONCE = bytes(range(32)), b"nonce"


def test_every_size_has_its_streams_in_random_order_and_each_is_due_after_the_last() -> None:
    made = plan(SEED, NONCE, per_second=2, sizes=(100, 1_000), each=10)

    sizes = [int(item.key.split("/")[1]) for item in made.items]
    due = [item.at for item in made.items]
    assert made.probe is ProbeKind.LATENCY
    assert sorted(sizes) == [100] * 10 + [1_000] * 10 != sizes
    assert due[0] == 0
    assert all(one is not None and other is not None and one <= other for one, other in pairwise(due))
    assert len({item.key for item in made.items}) == 20


@pytest.mark.parametrize("size", [100, 1_000, 4_000])
def test_a_prompt_has_about_the_size_asked_for_and_a_beginning_of_its_own(size: int) -> None:
    items = plan(SEED, NONCE, per_second=2, sizes=(size,), each=6).items
    texts = [item.request["messages"][0]["content"] for item in items]

    assert all(0.9 * size <= 1.35 * len(text.split()) <= 1.1 * size + 40 for text in texts)
    assert len({text[:60] for text in texts}) == 6


def test_another_run_asks_other_prompts_at_other_times() -> None:
    one, other = (plan(SEED, nonce, per_second=2, each=2) for nonce in (NONCE, b"another"))

    assert one == plan(SEED, NONCE, per_second=2, each=2)
    assert one.suite_sha256 == other.suite_sha256
    assert not {item.key for item in one.items} & {item.key for item in other.items}
    assert {item.at for item in one.items} & {item.at for item in other.items} == {0.0}


def test_arrivals_come_at_the_rate_asked_for_and_do_not_know_of_each_other() -> None:
    due = list(poisson(Draw(SEED, "test"), 4_000, 5.0))
    gaps = [later - earlier for earlier, later in pairwise(due)]

    mean = math.fsum(gaps) / len(gaps)
    variance = math.fsum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    # An exponential distribution's standard deviation is its mean.
    assert mean == pytest.approx(0.2, rel=0.06)
    assert math.sqrt(variance) == pytest.approx(mean, rel=0.1)


def test_a_stall_breaks_the_promise_of_every_request_that_was_due_meanwhile() -> None:
    stall_s, until, seen = 0.5, 0.0, 0

    async def stalling(received: Received, connection: Connection) -> None:
        nonlocal until, seen
        seen += 1
        now = asyncio.get_running_loop().time()
        if seen == 5:
            until = now + stall_s
        await asyncio.sleep(max(0.0, until - now))
        await Lawful()(received, connection)

    made = plan(SEED, NONCE, per_second=40, sizes=(50,), each=16, max_tokens=10)
    with ScriptedServer(stalling) as server:
        samples = send(target(server.base_url, max_concurrency=2), made, clock=SystemClock()).samples

    due = [item.at or 0.0 for item in made.items]
    held = sum(due[4] <= at < due[4] + stall_s - 0.15 for at in due)
    times = [latency_of(sample) for sample in samples]
    found = goodput(samples, [Promise(ttft=0.15)])
    assert held >= 8
    assert found.counted == 16
    assert found.met <= 16 - held
    # Of the streams alone, without the time they had to wait, only those that two connections held were slow.
    assert sum(one is not None and one.ttft - one.late > 0.15 for one in times) < held
    assert {figure.bucket for figure in figures(one for one in times if one)} == {"0k-1k"}


def test_a_stream_through_the_wire_has_all_its_times() -> None:
    async def steady(received: Received, connection: Connection) -> None:
        envelope = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        await connection.begin()
        for word in WORDS[:5]:
            choice = {"index": 0, "delta": {"content": word}, "finish_reason": None}
            await connection.event({**envelope, "choices": [choice]})
            await asyncio.sleep(0.03)
        await connection.event({**envelope, "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
        usage = {"prompt_tokens": 2_000, "completion_tokens": 10, "total_tokens": 2_010}
        await connection.event({**envelope, "choices": [], "usage": usage})
        await connection.event("[DONE]")
        await connection.end()

    with ScriptedServer(steady) as server:
        (sample,) = send(target(server.base_url), plan(SEED, NONCE, per_second=9, sizes=(50,), each=1)).samples

    found = latency_of(sample)
    assert found is not None
    assert (found.bucket, found.buffered, found.tokens_per_chunk) == ("1k-4k", False, 2.0)
    assert found.tpot is not None
    assert found.gap_median is not None
    assert found.end_to_end is not None
    assert 0 <= found.late <= found.ttft <= found.end_to_end
