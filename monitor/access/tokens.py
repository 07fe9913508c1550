"""API tokens: `mon_ID_SECRET`. The id finds the row, and only a digest of the secret is stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime

from monitor.store.ids import new_id

_ID_PREFIX = "tok_"
# Letters and digits alone, so that the redaction's pattern covers all of a token.
_TEXT = re.compile(r"mon_([0-9A-HJKMNP-TV-Z]{26})_([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Token:
    """A token in full; its text is shown once, when it is made."""

    id: str
    secret: str

    @classmethod
    def new(cls, at: datetime) -> Token:
        return cls(new_id("tok", at), secrets.token_hex(32))

    @classmethod
    def parse(cls, text: str) -> Token | None:
        """None for what has not the form of a token."""
        match = _TEXT.fullmatch(text)
        return None if match is None else cls(_ID_PREFIX + match[1], match[2])

    @property
    def text(self) -> str:
        return f"mon_{self.id.removeprefix(_ID_PREFIX)}_{self.secret}"

    @property
    def digest(self) -> str:
        return digest(self.secret)

    def matches(self, stored_digest: str) -> bool:
        """In constant time."""
        return hmac.compare_digest(self.digest, stored_digest)


def digest(secret: str) -> str:
    """SHA-256 suffices for 256 random bits; only what people choose needs a slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
