"""An endpoint that takes its time, so that a worker can be caught in the middle of a check."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import Connection, Received, ScriptedServer


@dataclass
class Slow:
    """The answers of `model`, each `seconds` late."""

    seconds: float = 0.15
    model: ScriptedModel = field(default_factory=ScriptedModel)

    async def __call__(self, received: Received, connection: Connection) -> None:
        await asyncio.sleep(self.seconds)
        await self.model(received, connection)


@contextmanager
def slow_endpoint(seconds: float = 0.15) -> Iterator[ScriptedServer]:
    with ScriptedServer(Slow(seconds)) as server:
        yield server
