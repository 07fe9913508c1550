"""Ports of this machine."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port that nothing listens at. The kernel hands them out in turn, so two processes that ask at once get two."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
