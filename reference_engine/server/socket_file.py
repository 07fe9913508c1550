"""A unix socket as a file: only its owner's, taken over from a process that has died, gone when the server ends."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from reference_engine.errors import EngineRequestError


def bind_socket_file(path: Path) -> socket.socket:
    """A bound socket that does not listen yet.

    Raises `EngineRequestError` where a process listens on it already, or where the path cannot be had.
    """
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if _is_abandoned(path):
            path.unlink()
        _bind_for_the_owner(bound, path)
    except OSError as error:
        bound.close()
        raise EngineRequestError(
            f"Cannot listen on {str(path)!r}: {error.strerror or error}.",
            remedy="Stop the process that holds it, or choose another path with --socket.",
        ) from error
    return bound


def _is_abandoned(path: Path) -> bool:
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        return client.connect_ex(str(path)) != 0


def _bind_for_the_owner(bound: socket.socket, path: Path) -> None:
    """A change of mode afterwards would leave a moment in which anybody could connect."""
    mask = os.umask(0o177)
    try:
        bound.bind(str(path))
    finally:
        os.umask(mask)
