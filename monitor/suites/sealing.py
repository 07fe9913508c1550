"""Seals bytes so that only the key opens them, and only in the place that they were sealed for (AES-256-GCM)."""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from monitor.suites.key import SuiteKey

# Random ones stay apart for some 2**32 records of one key.
NONCE_BYTES = 12
_FORM = b"monitor.suite/1"


class Unsealable(Exception):  # noqa: N818 - the caller says of what
    """The bytes were not sealed with this key for this place."""


def seal(key: SuiteKey, plain: bytes, place: str) -> bytes:
    """A fresh nonce, then the ciphertext with its tag. `place` is bound to it and not stored."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(key.secret).encrypt(nonce, plain, _bound(place))


def unseal(key: SuiteKey, sealed: bytes, place: str) -> bytes:
    """Raises Unsealable."""
    nonce, content = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
    try:
        return AESGCM(key.secret).decrypt(nonce, content, _bound(place))
    except (InvalidTag, ValueError):
        raise Unsealable from None


def _bound(place: str) -> bytes:
    return _FORM + b"\0" + place.encode()
