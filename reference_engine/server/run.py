"""The server as a process: its port, its signals, and the line that says it is ready."""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from reference_engine.errors import EngineRequestError

_SHUTDOWN_SECONDS = 3


def bind(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet: until it does, clients are refused and know that nobody is ready.

    Raises `EngineRequestError` naming host and port where the address cannot be had.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _address_error(f"{host} port {port}", error) from error
    try:
        # A restart on the same port must not wait for the last process's closed connections.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise _address_error(f"{host} port {port}", error) from error
    return bound


def is_loopback(bound: socket.socket) -> bool:
    """Whether only this machine can connect."""
    return bound.family == socket.AF_UNIX or ip_address(bound.getsockname()[0]).is_loopback


def base_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/v1" if ":" in host else f"http://{host}:{port}/v1"


async def at_once() -> None:
    """Drains nothing."""


def serve(
    app: ASGIApp, bound: socket.socket, announce: Callable[[], None], drain: Callable[[], Awaitable[None]] = at_once
) -> None:
    """Serves until SIGTERM or SIGINT, and on until `drain` comes back; then ends what is still open after a few
    seconds. A second signal ends the process at once.

    The signal is raised again once all is closed, so that the caller's own handler decides how the process ends.
    """
    try:
        DrainingServer(app, announce, drain).run(sockets=[bound])
    except OSError as error:
        raise _address_error(_shown(bound), error) from error


class DrainingServer(uvicorn.Server):
    """Says when it is ready, and drains before it closes."""

    def __init__(self, app: ASGIApp, announce: Callable[[], None], drain: Callable[[], Awaitable[None]]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            )
        )
        self._announce = announce
        self._drain = drain

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._announce()

    async def main_loop(self) -> None:
        await super().main_loop()
        await self._drain()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(0)
        super().handle_exit(sig, frame)


def _shown(bound: socket.socket) -> str:
    address = bound.getsockname()
    return str(address) if bound.family == socket.AF_UNIX else f"{address[0]} port {address[1]}"


def _address_error(where: str, error: OSError) -> EngineRequestError:
    reason = error.strerror or str(error)
    return EngineRequestError(
        f"Cannot listen on {where}: {reason}.",
        remedy="Stop the process that holds the port, or choose another with --port.",
    )
