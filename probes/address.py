"""Which addresses a provider may be reached at: pure rules over URLs and IP addresses, no socket and no name lookup.

A URL is judged twice. `forbidden_origin` judges its text before anything is looked up; `forbidden_address` judges
every address the name resolves to, right before a socket is opened to one of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from probes.errors import AddressForbiddenError

IPAddress = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Python's own tables differ between patch releases, so what must hold is spelled out here as well.
_UNICAST_V6 = IPv6Network("2000::/3")
_NEVER_PUBLIC: tuple[Network, ...] = (
    IPv4Network("192.0.0.0/24"),  # IETF protocol assignments
    IPv4Network("192.88.99.0/24"),  # 6to4 relays
    IPv6Network("2001::/23"),  # Teredo, benchmarking, ORCHID
    IPv6Network("2001:db8::/32"),  # documentation
    IPv6Network("2002::/16"),  # 6to4: carries an IPv4 address
    IPv6Network("3fff::/20"),  # documentation
)
_NAT64: tuple[IPv6Network, ...] = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_LINK_LOCAL: tuple[Network, ...] = (IPv4Network("169.254.0.0/16"), IPv6Network("fe80::/10"))
_PRIVATE: tuple[Network, ...] = (
    IPv4Network("127.0.0.0/8"),
    IPv4Network("10.0.0.0/8"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.168.0.0/16"),
    IPv4Network("100.64.0.0/10"),  # carrier-grade NAT, overlay networks
    IPv6Network("::1/128"),
    IPv6Network("fc00::/7"),
)
# They hand out credentials to whoever asks from the same host; no model is served there.
_METADATA: frozenset[IPAddress] = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",
        "100.100.100.200",  # Alibaba Cloud
        "168.63.129.16",  # Azure, although a public address
        "192.0.0.192",  # Oracle Cloud
        "fd00:ec2::254",  # AWS
        "fd20:ce::254",  # Google Cloud
    )
)

# The forms inet_aton reads as IPv4: a last label that is decimal, octal or hexadecimal.
_NUMERIC_LABEL = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Forbidden:
    """Why an address may not be asked, and what would be right."""

    reason: str
    remedy: str

    def error(self, place: str) -> AddressForbiddenError:
        return AddressForbiddenError(f"{place} may not be asked: {self.reason}.", remedy=self.remedy)


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """What one provider entry permits: `privileged_ports` are those below 1024, None for all of them."""

    schemes: tuple[str, ...]
    networks: tuple[Network, ...]
    privileged_ports: frozenset[int] | None


PUBLIC = AddressPolicy(schemes=("https",), networks=(), privileged_ports=frozenset({443}))
PRIVATE_TOO = AddressPolicy(schemes=("https", "http"), networks=_PRIVATE, privileged_ports=None)

_ALLOW_PRIVATE = "If the address is yours, set `allow_private: true` beside it."
_PUBLIC_ADDRESS = "Write the address that it is published under."
_PLAIN_ADDRESS = "Write the address in the usual form, such as 192.0.2.7 or a host name."
_NO_USERINFO = "Leave it out of the URL; the key of a provider is given as `api_key`."


def policy_for(allow_private: bool) -> AddressPolicy:
    return PRIVATE_TOO if allow_private else PUBLIC


def forbidden_origin(
    policy: AddressPolicy, *, scheme: str, userinfo: str, host: str, port: int | None
) -> Forbidden | None:
    """Why a URL with these parts may not be asked, or None. `host` is ASCII (after IDNA) and without brackets."""
    if userinfo:
        return Forbidden("it holds a user name or password before the host", _NO_USERINFO)
    if scheme not in PRIVATE_TOO.schemes or not host:
        return Forbidden("it is not an http(s) URL with a host", "Write it as https://HOST/PATH.")
    if scheme not in policy.schemes:
        return Forbidden(f"its scheme is {scheme}", f"Use https. {_ALLOW_PRIVATE}")
    if port is not None and not 0 < port < 65536:
        return Forbidden(f"there is no port {port}", "Write the port that it is served on.")
    if policy.privileged_ports is not None and port is not None and port < 1024 and port not in policy.privileged_ports:
        return Forbidden(f"nothing public is served on port {port}", _ALLOW_PRIVATE)
    address = parse_address(host)
    if address is not None:
        return forbidden_address(policy, address)
    if not _NAME.fullmatch(host):
        return Forbidden(f"{host!r} is no host name", _PLAIN_ADDRESS)
    labels = [label for label in host.split(".") if label]
    if not labels or _NUMERIC_LABEL.fullmatch(labels[-1]):
        return Forbidden(f"{host!r} may stand for an IP address but is not written as one", _PLAIN_ADDRESS)
    return None


def forbidden_address(policy: AddressPolicy, address: IPAddress) -> Forbidden | None:
    """Why no socket may be opened to this address, or None. An IPv4 address mapped into IPv6 is judged as IPv4."""
    plain = _unwrapped(address)
    if plain in _METADATA:
        return Forbidden(f"{plain} is a cloud metadata service", _PUBLIC_ADDRESS)
    if _within(plain, policy.networks) or _is_public(plain):
        return None
    return Forbidden(f"{plain} is {_kind(plain)}", _ALLOW_PRIVATE if _within(plain, _PRIVATE) else _PUBLIC_ADDRESS)


def parse_address(text: str) -> IPAddress | None:
    """The address where the text is one in its standard spelling, else None (a name, or an odd spelling)."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def _unwrapped(address: IPAddress) -> IPAddress:
    """Without its IPv6 zone, and as IPv4 where it maps one."""
    if isinstance(address, IPv4Address):
        return address
    return address.ipv4_mapped or IPv6Address(int(address))


def _within(address: IPAddress, networks: tuple[Network, ...]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _is_public(address: IPAddress) -> bool:
    if address.is_multicast or not address.is_global or _within(address, _NEVER_PUBLIC):
        return False
    return isinstance(address, IPv4Address) or address in _UNICAST_V6


def _kind(address: IPAddress) -> str:
    if address.is_multicast:
        return "a multicast address"
    if address.is_unspecified:
        return "the unspecified address"
    if address.is_loopback:
        return "a loopback address"
    if _within(address, _LINK_LOCAL):
        return "a link-local address"
    if _within(address, _NAT64):
        return "an IPv4 address wrapped by NAT64"
    if _within(address, _PRIVATE):
        return "a private address"
    return "not a public unicast address"
