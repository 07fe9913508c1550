"""Asks the reference what an endpoint was asked, over HTTP and with the same client: both sides are read alike."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ssl
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeGuard

from probes.client import Ask, Client, OnSample
from probes.clock import SystemClock
from probes.conversation import Talk, hold
from probes.errors import ProbeError
from probes.plan import Item, Plan, Sample
from probes.socket_network import SocketNetwork
from probes.target import Target
from probes.transport import Transport
from reference_engine import Address, EngineError, ReferenceBackend, ServableBackend, ServedBackend, served

Conversing = ServableBackend | ServedBackend

# As many as the engine runs in one batch; more only wait.
_CONCURRENCY = 32
_TIMEOUT_S = 600.0


def converses(engine: ReferenceBackend | None) -> TypeGuard[Conversing]:
    """Whether a reference holds conversations, here or in its service."""
    return isinstance(engine, ServableBackend | ServedBackend)


def ask_reference(
    engine: Conversing,
    profile: str,
    plan: Plan,
    told: Callable[[], None],
    *,
    nonce: bytes,
    within_s: float | None = None,
) -> list[Sample]:
    """The reference's answers to the plan's items and in its conversations under `profile`, as many as come within the
    time; `told` is called with each.

    Its randomness is that of the check's `nonce` and of the item: of one check it answers the same each time, and no
    two checks share an answer that was left to chance (DETECTION.md, finding 5). Raises EngineError.
    """
    answered: list[Sample] = []

    def on_sample(sample: Sample) -> None:
        answered.append(sample)
        told()

    async def ask(address: Address) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await _ask(address, plan, nonce, on_sample)

    with served(engine, profile=profile) as address:
        asyncio.run(ask(address))
    return answered


def hear_reference(address: Address, plan: Plan, on_sample: OnSample, *, sends_for_s: float | None = None) -> None:
    """The same of a reference that is served already: `on_sample` is called with each answer as it comes, and nothing
    of it stays here. After `sends_for_s` seconds nothing more is asked; answers on their way are waited for.

    Its randomness is the item's alone: whoever asks one twice gives its repeats other numbers."""
    asyncio.run(_ask(address, plan, b"", on_sample, sends_for_s))


def client_of(address: Address) -> Client:
    """Raises ProbeError. It trusts whom this machine trusts, as everything does that asks a reference."""
    target = Target(
        base_url=address.base_url,
        served_name="reference",
        api_key=address.token,
        allow_private=True,
        max_concurrency=_CONCURRENCY,
        timeout_s=_TIMEOUT_S,
        idle_timeout_s=_TIMEOUT_S,
    )
    transport = Transport(
        target.policy,
        clock=SystemClock(),
        max_connections=_CONCURRENCY,
        tls=ssl.create_default_context() if address.base_url.startswith("https:") else None,
        network=None if address.socket is None else SocketNetwork(address.socket),
    )
    return Client(target, transport=transport, known=True)


async def _ask(
    address: Address, plan: Plan, nonce: bytes, on_sample: OnSample, sends_for_s: float | None = None
) -> None:
    seeded = replace(plan, items=tuple(_seeded(item, nonce) for item in plan.items))
    try:
        async with client_of(address) as client:
            await client.pass_on(seeded, on_sample, sends_for_s=sends_for_s)
            talks = [conversation.begin() for conversation in plan.conversations]
            await client.converse([partial(_hold, talk=talk, nonce=nonce) for talk in talks], on_sample=on_sample)
    except ProbeError as error:
        raise EngineError(f"The reference could not be asked: {error.message}", remedy=error.remedy) from error


async def _hold(ask: Ask, talk: Talk, nonce: bytes) -> None:
    await hold(lambda item: ask(_seeded(item, nonce)), talk)


def _seeded(item: Item, nonce: bytes) -> Item:
    drawn = hashlib.sha256(nonce + f"{item.key}\n{item.rep}".encode()).digest()
    return replace(item, request={**item.request, "seed": int.from_bytes(drawn[:4], "big")})
