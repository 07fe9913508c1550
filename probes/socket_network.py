"""Leads every connection to one unix socket, whatever host and port are asked for: to a service of our own."""

from __future__ import annotations

from collections.abc import Iterable

import httpcore


class SocketNetwork(httpcore.AsyncNetworkBackend):
    def __init__(self, path: str) -> None:
        self._path = path
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - the signature is httpcore's
        port: int,  # noqa: ARG002
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return await self._network.connect_unix_socket(self._path, timeout, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)
