"""Identifiers of the API: a prefix that says what is named, and a UUIDv7 (RFC 9562) in Crockford's base 32."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Literal

Prefix = Literal["prv", "mdl", "ref", "ep", "chk", "run", "bl", "alr", "sil", "msg", "tok", "usr", "req"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 26


def uuid7(at: datetime) -> int:
    """A version 7 UUID as its 128-bit integer: milliseconds since 1970, version, 74 random bits, variant.

    `at` must be aware; identifiers of one millisecond are in no order.
    """
    milliseconds = int(at.timestamp() * 1000) & ((1 << 48) - 1)
    random_a = secrets.randbits(12)
    random_b = secrets.randbits(62)
    return (milliseconds << 80) | (0x7 << 76) | (random_a << 64) | (0b10 << 62) | random_b


def new_id(prefix: Prefix, at: datetime) -> str:
    """A fresh identifier such as `run_01JD…`: 26 characters after the prefix; text order is time order."""
    value = uuid7(at)
    digits = (_ALPHABET[(value >> (5 * place)) & 31] for place in reversed(range(_LENGTH)))
    return f"{prefix}_{''.join(digits)}"
