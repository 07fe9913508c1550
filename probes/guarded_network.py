"""Looks up host names and opens connections to permitted addresses only.

A name is resolved once, every address it has is judged, and the socket is opened to a judged address, so there is no
moment in which a second look-up could answer differently.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpcore

from probes.address import AddressPolicy, Forbidden, forbidden_address, parse_address
from probes.errors import AddressForbiddenError
from probes.failure import CHECK_BASE_URL, Failure, FailureKind
from probes.transport_failure import TransportError

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]


async def resolve(host: str, port: int) -> Sequence[str]:
    """Every address of a host name, in the system's order of preference."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Opens TCP connections to judged addresses only."""

    def __init__(self, policy: AddressPolicy, resolver: Resolver, network: httpcore.AsyncNetworkBackend) -> None:
        self._policy = policy
        self._resolve = resolver
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._judged(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"looking up {host}") from error
        # A black-holed first address must leave the others their share of the time.
        share = None if timeout is None else timeout / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(addresses[-1], port, share, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002 - the signature is httpcore's
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        raise AddressForbiddenError(f"{path!r} is a socket file; providers are asked over TCP.")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)

    async def _judged(self, host: str, port: int) -> list[str]:
        try:
            texts = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            message = f"The host name {host!r} does not resolve."
            remedy = "Check base_url for a typo, and this machine's DNS."
            raise TransportError(Failure(FailureKind.DNS, message, remedy)) from error
        if not texts:
            raise TransportError(Failure(FailureKind.DNS, f"The host name {host!r} has no address.", CHECK_BASE_URL))
        for text in texts:
            address = parse_address(text)
            if address is None:
                raise Forbidden(f"{text!r} is no IP address", "").error(f"{host}:{port}")
            if verdict := forbidden_address(self._policy, address):
                raise verdict.error(f"{host}:{port}")
        return list(texts)
