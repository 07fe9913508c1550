"""Which addresses the service may listen on, and which names it answers to before its first user exists."""

from __future__ import annotations

import ipaddress
import re

from monitor.errors import BindRefusedError, HostForbiddenError

_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::\d{1,5})?")


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or address without a port, is this machine and nothing else."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_bind(host: str, *, has_users: bool) -> None:
    """Raises BindRefusedError for an address that others can reach while nobody has to sign in."""
    if has_users or is_loopback(host):
        return
    raise BindRefusedError(
        f"The service does not listen on {host} while it has no user: everything would be open to the network.",
        remedy="Run `monitor user create NAME --role admin` first, or listen on 127.0.0.1.",
    )


def check_host(header: str | None) -> None:
    """Raises HostForbiddenError unless the Host header names this machine: a name that a stranger's DNS points here
    (DNS rebinding) would let his web page read what is open."""
    match = _HOST.fullmatch(header or "")
    if match is None or not is_loopback(match[1]):
        raise HostForbiddenError(
            "Until there is a user, the service answers only to localhost and loopback addresses.",
            remedy="Use http://localhost:PORT, or create the first user.",
        )
