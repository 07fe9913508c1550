"""Sends plans to scripted servers: what the tests of the client share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from probes.capabilities import Capabilities
from probes.client import Client
from probes.clock import Clock
from probes.completion import Completion
from probes.errors import (
    ProbeError,
)
from probes.plan import Item, Plan, ProbeKind, Sample
from probes.target import Target
from tests.endpoints.clock import PatientClock
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer

KEY = "canary-key-000000"
PROMPT = "Suggest a name for a shop in Kudrind that sells lopsided radishes."


def item(number: int = 0, **request: Any) -> Item:
    body = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 1, "temperature": 0, "stream": False}
    return Item(f"item-{number}", 0, {**body, **request})


def plan(count: int = 1, *, probe: ProbeKind = ProbeKind.LOGPROBS, **request: Any) -> Plan:
    return Plan(probe, tuple(item(number, **request) for number in range(count)), "0" * 64, "1")


def target(base_url: str, **settings: Any) -> Target:
    defaults: dict[str, Any] = {"served_name": "acme/lark-30b", "api_key": KEY, "allow_private": True}
    return Target(base_url, **{**defaults, **settings})


class Answers:
    """What one `send` gave: samples or an error, and the client's knowledge and waits afterwards."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.seen: list[Sample] = []
        self.error: ProbeError | None = None
        self.capabilities = Capabilities()
        self.clock = PatientClock()

    @property
    def only(self) -> Sample:
        assert self.error is None, self.error
        (sample,) = self.samples
        return sample

    @property
    def failure(self) -> ProbeError:
        assert self.error is not None
        return self.error


def send(
    target: Target, plan: Plan, *, capabilities: Capabilities | None = None, clock: Clock | None = None
) -> Answers:
    answers = Answers()

    async def run() -> None:
        async with Client(target, capabilities, clock=clock or answers.clock) as client:
            try:
                answers.samples = await client.send(plan, on_sample=answers.seen.append)
            except ProbeError as error:
                answers.error = error
                answers.samples = list(error.samples)
            answers.capabilities = client.capabilities

    asyncio.run(run())
    return answers


def ask(handler: Handler, count: int = 1, *, settings: Mapping[str, Any] | None = None, **request: Any) -> Answers:
    with ScriptedServer(handler) as server:
        return send(target(server.base_url, **(settings or {})), plan(count, **request))


def completion_of(sample: Sample) -> Completion:
    assert sample.completion is not None
    return sample.completion


def by_key(key: str, handler: Handler) -> Handler:
    """`handler` for the item that says its key in `user`, a lawful endpoint for the others."""

    async def choose(received: Received, connection: Connection) -> None:
        await (handler if received.json.get("user") == key else Lawful())(received, connection)

    return choose


def keyed_plan(count: int) -> Plan:
    made = plan(count)
    items = tuple(replace(item, request={**item.request, "user": item.key}) for item in made.items)
    return replace(made, items=items)
