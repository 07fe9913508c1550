"""A webhook receiver over real HTTP, which can be made to misbehave."""

from __future__ import annotations

import json
import ssl
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tests.endpoints import hostile
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer


@dataclass(frozen=True)
class Taken:
    """A message that the receiver answered with 204."""

    id: str
    timestamp: int
    body: Mapping[str, Any]

    @property
    def type(self) -> str:
        return str(self.body["type"])

    @property
    def group(self) -> str:
        return str(self.body["data"].get("group_key", self.type))

    @property
    def states(self) -> dict[str, str]:
        return {entry["id"]: entry["state"] for entry in self.body["data"].get("alerts", [])}


class Receiver:
    """`with Receiver() as receiver:` answers 204; while `fault` is a handler, it does that instead."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self.fault: Handler | None = None
        self.taken: list[Taken] = []
        self.tries: Counter[str] = Counter()
        self._server = ScriptedServer(self._answer, tls=tls)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    @property
    def url(self) -> str:
        return self._server.base_url.replace("/v1", "/hook")

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def received(self) -> list[Received]:
        return self._server.received

    def by_group(self) -> dict[str, list[Taken]]:
        found: dict[str, list[Taken]] = defaultdict(list)
        for taken in self.taken:
            found[taken.group].append(taken)
        return found

    async def _answer(self, received: Received, connection: Connection) -> None:
        self.tries[received.headers["webhook-id"]] += 1
        if self.fault is not None:
            await self.fault(received, connection)
            return
        headers = received.headers
        self.taken.append(Taken(headers["webhook-id"], int(headers["webhook-timestamp"]), json.loads(received.body)))
        await connection.reply(204, b"")


def busy(status: int = 429, retry_after: str | None = None) -> Handler:
    return hostile.always(status, "busy", headers={"Retry-After": retry_after} if retry_after else {})
