"""A certificate authority made for one test, by Python alone: X.509 (RFC 5280) with ECDSA over P-256.

For tests only: it signs with a predictable generator and guards no key.
"""

from __future__ import annotations

import base64
import hashlib
import random
import ssl
from ipaddress import ip_address
from pathlib import Path

# The curve's parameters, FIPS 186-4 D.1.2.3.
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
Point = tuple[int, int] | None

ECDSA_SHA256 = "1.2.840.10045.4.3.2"
EC_PUBLIC_KEY = "1.2.840.10045.2.1"
PRIME256V1 = "1.2.840.10045.3.1.7"
COMMON_NAME = "2.5.4.3"
SUBJECT_KEY_ID, KEY_USAGE, SUBJECT_ALT_NAME = "2.5.29.14", "2.5.29.15", "2.5.29.17"
BASIC_CONSTRAINTS, AUTHORITY_KEY_ID = "2.5.29.19", "2.5.29.35"


class Authority:
    """Signs server certificates and makes the contexts that serve and trust them; its files lie in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._random = random.Random(7)
        self._key = self._random.randrange(1, N)
        extensions = [
            _extension(BASIC_CONSTRAINTS, _sequence(_der(0x01, b"\xff")), critical=True),
            _extension(KEY_USAGE, _der(0x03, b"\x02\x04"), critical=True),
        ]
        self._certificate = self._issue("Test Authority", self._key, extensions)

    def server_context(self, name: str) -> ssl.SSLContext:
        """For a server whose certificate names this host name or IP address."""
        key = self._random.randrange(1, N)
        try:
            alternative = _der(0x87, ip_address(name).packed)
        except ValueError:
            alternative = _der(0x82, name.encode())
        extensions = [
            _extension(BASIC_CONSTRAINTS, _sequence(), critical=True),
            _extension(KEY_USAGE, _der(0x03, b"\x07\x80"), critical=True),
            _extension(SUBJECT_ALT_NAME, _sequence(alternative)),
        ]
        chain = self._folder / f"{name}.pem"
        chain.write_text(
            _pem("CERTIFICATE", self._issue(name, key, extensions)) + _pem("EC PRIVATE KEY", _private(key))
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context

    def client_context(self) -> ssl.SSLContext:
        """For a client that trusts this authority and no other."""
        return ssl.create_default_context(cadata=_pem("CERTIFICATE", self._certificate))

    def _issue(self, name: str, key: int, extensions: list[bytes]) -> bytes:
        public = _public(key)
        identities = [
            _extension(SUBJECT_KEY_ID, _der(0x04, _key_id(public))),
            _extension(AUTHORITY_KEY_ID, _sequence(_der(0x80, _key_id(_public(self._key))))),
        ]
        algorithm = _sequence(_oid(ECDSA_SHA256))
        body = _sequence(
            _der(0xA0, _integer(2)),
            _integer(self._random.randrange(1, 2**63)),
            algorithm,
            _name("Test Authority"),
            _sequence(_der(0x18, b"20200101000000Z"), _der(0x18, b"21000101000000Z")),
            _name(name),
            _sequence(_sequence(_oid(EC_PUBLIC_KEY), _oid(PRIME256V1)), _bits(public)),
            _der(0xA3, _sequence(*extensions, *identities)),
        )
        return _sequence(body, algorithm, _bits(self._sign(body)))

    def _sign(self, message: bytes) -> bytes:
        digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
        once = self._random.randrange(1, N)
        point = _times(once, G)
        assert point is not None
        r = point[0] % N
        return _sequence(_integer(r), _integer(pow(once, -1, N) * (digest + r * self._key) % N))


def _add(a: Point, b: Point) -> Point:
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    slope = (3 * a[0] ** 2 - 3) * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope**2 - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def _times(factor: int, point: Point) -> Point:
    total: Point = None
    while factor:
        if factor & 1:
            total = _add(total, point)
        point = _add(point, point)
        factor >>= 1
    return total


def _public(key: int) -> bytes:
    point = _times(key, G)
    assert point is not None
    return b"\x04" + point[0].to_bytes(32, "big") + point[1].to_bytes(32, "big")


def _private(key: int) -> bytes:
    curve = _der(0xA0, _oid(PRIME256V1))
    return _sequence(_integer(1), _der(0x04, key.to_bytes(32, "big")), curve, _der(0xA1, _bits(_public(key))))


def _key_id(public: bytes) -> bytes:
    return hashlib.sha1(public, usedforsecurity=False).digest()


def _extension(identifier: str, value: bytes, *, critical: bool = False) -> bytes:
    flag = _der(0x01, b"\xff") if critical else b""
    return _sequence(_oid(identifier), flag, _der(0x04, value))


def _name(common_name: str) -> bytes:
    return _sequence(_der(0x31, _sequence(_oid(COMMON_NAME), _der(0x0C, common_name.encode()))))


def _sequence(*parts: bytes) -> bytes:
    return _der(0x30, b"".join(parts))


def _bits(data: bytes) -> bytes:
    return _der(0x03, b"\0" + data)


def _integer(value: int) -> bytes:
    return _der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _oid(text: str) -> bytes:
    first, second, *rest = (int(part) for part in text.split("."))
    encoded = [40 * first + second]
    for number in rest:
        septets = [number & 0x7F]
        while number := number >> 7:
            septets.insert(0, number & 0x7F | 0x80)
        encoded += septets
    return _der(0x06, bytes(encoded))


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def _pem(label: str, der: bytes) -> str:
    return f"-----BEGIN {label}-----\n{base64.encodebytes(der).decode()}-----END {label}-----\n"
