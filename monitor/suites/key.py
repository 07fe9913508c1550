"""The key that private eval sets are sealed with. It is never in the database."""

from __future__ import annotations

import base64
import binascii
import hmac
from dataclasses import dataclass, field
from typing import Literal

from monitor.datadir import SEED_BYTES, DataDir
from monitor.errors import SecretError, SuiteUnreadableError
from monitor.secrets import SecretRef
from monitor.settings import PREFIX, Settings

_ID_OF = b"endpoint-monitor: id of a key for suites"


@dataclass(frozen=True, slots=True)
class SuiteKey:
    """32 random bytes. `id` tells keys apart and says nothing of them."""

    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        return hmac.digest(self.secret, _ID_OF, "sha256").hex()[:16]


def key_to_seal(settings: Settings, data: DataDir) -> SuiteKey:
    """The key of the environment, or else of the data directory, where it is made at the first call.

    Raises SecretError or StorageError.
    """
    return _given(settings) or SuiteKey(data.suites_key())


def key_to_open(settings: Settings, data: DataDir) -> SuiteKey:
    """The same key, which is not made here: what it would open is sealed already. Raises SuiteUnreadableError too."""
    given = _given(settings)
    if given is None and not data.has(data.suites_key_path):
        raise SuiteUnreadableError(
            f"The key to the suites is not on this machine: there is no {data.suites_key_path}.",
            remedy=f"Give it to this host, by {PREFIX}SUITES_KEY_FILE or as that file of the host that imported them.",
        )
    return given or SuiteKey(data.suites_key())


def _given(settings: Settings) -> SuiteKey | None:
    if settings.suites_key is not None:
        return _resolved("env", f"{PREFIX}SUITES_KEY")
    if settings.suites_key_file is not None:
        return _resolved("file", str(settings.suites_key_file))
    return None


def _resolved(kind: Literal["env", "file"], name: str) -> SuiteKey:
    reference = SecretRef(kind, name)
    text = reference.resolve().get_secret_value()
    try:
        secret = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if len(secret) != SEED_BYTES:
        raise SecretError(
            f"{reference} is no key for suites: it is not {SEED_BYTES} bytes in base 64.",
            remedy=f"Make one with `openssl rand -base64 {SEED_BYTES}`.",
        )
    return SuiteKey(secret)
