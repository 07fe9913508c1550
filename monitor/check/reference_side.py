"""Asks the reference what an endpoint was asked, over HTTP and with the same client: both sides are read alike."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace

from probes.client import Client
from probes.errors import ProbeError
from probes.plan import Item, Plan, Sample
from probes.target import Target
from reference_engine import Address, EngineError, ServableBackend, served_here

# As many as the engine runs in one batch; more only wait.
_CONCURRENCY = 32
_TIMEOUT_S = 600.0


def ask_reference(
    engine: ServableBackend, profile: str, plan: Plan, told: Callable[[], None], *, within_s: float | None = None
) -> list[Sample]:
    """The reference's answers to the plan's items under `profile`, as many as come within the time; `told` is called
    with each.

    Its randomness is the item's own, so that it answers the same item alike each time. Raises EngineError.
    """
    seeded = replace(plan, items=tuple(map(_seeded, plan.items)))
    with served_here(engine, profile=profile) as address:
        return asyncio.run(_ask(address, seeded, told, within_s))


async def _ask(address: Address, plan: Plan, told: Callable[[], None], within_s: float | None) -> list[Sample]:
    target = Target(
        base_url=address.base_url,
        served_name="reference",
        api_key=address.token,
        allow_private=True,
        max_concurrency=_CONCURRENCY,
        timeout_s=_TIMEOUT_S,
        idle_timeout_s=_TIMEOUT_S,
    )
    answered: list[Sample] = []

    def on_sample(sample: Sample) -> None:
        answered.append(sample)
        told()

    try:
        async with asyncio.timeout(within_s), Client(target) as client:
            await client.send(plan, on_sample=on_sample)
    except TimeoutError:
        return answered
    except ProbeError as error:
        raise EngineError(f"The reference could not be asked: {error.message}", remedy=error.remedy) from error
    return answered


def _seeded(item: Item) -> Item:
    drawn = hashlib.sha256(f"{item.key}\n{item.rep}".encode()).digest()
    return replace(item, request={**item.request, "seed": int.from_bytes(drawn[:4], "big")})
