"""What our client adds to raw httpx: the same requests to the same endpoint, side by side in one process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import median

import httpx

from benchmarks.fake_endpoint import fake_endpoint
from probes import logprobs
from probes.client import Client
from probes.plan import Plan
from probes.target import Target

CONCURRENCY = 8
REQUESTS = 400
ROUNDS = 9
# Read before: our client reads the authorities once in a process, and raw httpx would for each of its clients.
_TRUST = httpx.create_ssl_context()


@dataclass(frozen=True)
class Seconds:
    """For one request: on the clock, and of this process's CPU."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Overhead:
    """One endpoint, which answers after `delay` seconds. Each round asks raw httpx first and our client next."""

    delay: float
    raw: list[Seconds]
    ours: list[Seconds]

    @property
    def wall_ratio(self) -> float:
        return median(ours.wall / raw.wall for raw, ours in zip(self.raw, self.ours, strict=True))

    @property
    def cpu_ratio(self) -> float:
        return median(ours.cpu / raw.cpu for raw, ours in zip(self.raw, self.ours, strict=True))


def client_overhead(delay: float) -> Overhead:
    plan = logprobs.plan(bytes(32), bytes(16), n=REQUESTS, has_reference=False)
    with fake_endpoint(delay) as base_url:
        raw, ours = [], []
        for _ in range(ROUNDS):
            raw.append(_seconds(lambda: _raw(base_url, plan)))
            ours.append(_seconds(lambda: _ours(base_url, plan)))
    return Overhead(delay, raw, ours)


def _seconds(work: Callable[[], Awaitable[None]]) -> Seconds:
    async def timed() -> Seconds:
        wall, cpu = time.perf_counter(), time.process_time()
        await work()
        return Seconds((time.perf_counter() - wall) / REQUESTS, (time.process_time() - cpu) / REQUESTS)

    return asyncio.run(timed())


async def _raw(base_url: str, plan: Plan) -> None:
    """Connections that are kept, as many at a time, and every answer parsed."""
    items = iter(plan.items)

    async def work(client: httpx.AsyncClient) -> None:
        for item in items:
            answer = await client.post(f"{base_url}/chat/completions", json={"model": "lark", **item.request})
            answer.raise_for_status()
            answer.json()

    async with httpx.AsyncClient(verify=_TRUST, limits=httpx.Limits(max_connections=CONCURRENCY)) as client:
        await asyncio.gather(*(work(client) for _ in range(CONCURRENCY)))


async def _ours(base_url: str, plan: Plan) -> None:
    target = Target(base_url=base_url, served_name="lark", allow_private=True, max_concurrency=CONCURRENCY)
    async with Client(target) as client:
        await client.send(plan)
