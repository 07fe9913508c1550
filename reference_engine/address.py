"""Where a reference service is: a host and port, or a unix socket, and the kind of connection that leads there."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import urlsplit

from reference_engine.errors import EngineRequestError

_CONNECT_SECONDS = 5.0
_URL_REMEDY = "Write http://HOST:PORT, https://HOST:PORT or unix:/PATH."


@dataclass(frozen=True, slots=True)
class Address:
    """`scheme` is http, https or unix; a unix socket has a path and no port."""

    scheme: str
    host: str
    port: int | None
    path: str

    def __str__(self) -> str:
        if self.scheme == "unix":
            return f"unix:{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{'' if self.port is None else f':{self.port}'}{self.path}"


def read_address(url: str) -> Address:
    """Raises EngineRequestError, without repeating a URL that may hold a password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise EngineRequestError("The URL of the reference service cannot be read.", remedy=_URL_REMEDY) from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise EngineRequestError(
            "The URL of the reference service holds more than an address.",
            remedy="A token goes into MONITOR_REFERENCE_TOKEN.",
        )
    if parts.scheme == "unix" and parts.path.startswith("/") and not parts.netloc:
        return Address("unix", "localhost", None, parts.path)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EngineRequestError(f"{url!r} is not the URL of a reference service.", remedy=_URL_REMEDY)
    return Address(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))


class _UnixConnection(HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_CONNECT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def connection_to(address: Address) -> HTTPConnection:
    """Not connected yet."""
    if address.scheme == "unix":
        return _UnixConnection(address.path)
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    return kind(address.host, address.port, timeout=_CONNECT_SECONDS)
