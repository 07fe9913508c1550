"""Where the sockets are: those between the service's processes, and the one that it listens on."""

from __future__ import annotations

import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monitor.errors import UsageError

# The kernel's field holds 108 bytes with the end.
LONGEST_PATH = 107
# Any other character would have to be escaped in a URL, which each library does in its own way.
_PLAIN = re.compile(r"[A-Za-z0-9._/-]+")
_LONGEST_NAME = "reference.sock"
_BACKLOG = 128


@contextmanager
def socket_folder(data_dir: Path) -> Iterator[Path]:
    """The data directory, or a private folder with a short name where sockets do not fit into that."""
    usual = data_dir.absolute()
    if fits(usual / _LONGEST_NAME):
        yield usual
        return
    with tempfile.TemporaryDirectory(prefix="monitor-", ignore_cleanup_errors=True) as short:
        yield Path(short)


def fits(path: Path) -> bool:
    """Whether a Unix socket can be at `path`, and be named in a URL."""
    return len(str(path)) <= LONGEST_PATH and _PLAIN.fullmatch(str(path)) is not None


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens, and keeps whoever connects waiting until somebody serves it.

    Raises UsageError where the address cannot be had.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        # A restart on the same port must not wait for the last process's closed connections.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except UnicodeError as error:
        raise UsageError(f"'{host}' cannot be the name of a machine.", remedy="Name an address by --host.") from error
    except OSError as error:
        raise UsageError(
            f"Cannot listen on {host} port {port}: {error.strerror or error}.",
            remedy="Stop the process that holds the port, or choose another with --port.",
        ) from error
    return bound


def url_of(host: str, bound: socket.socket) -> str:
    port = bound.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
