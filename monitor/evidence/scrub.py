"""Takes secrets out of bytes, however JSON or a URL may spell them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from monitor.redaction import MIN_SECRET_LENGTH, REDACTED


class Scrubber:
    """Replaces each of the secrets; its repr shows none of them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # Longest first, or a secret that begins with another one would keep its tail.
        known = sorted((secret for secret in set(secrets) if len(secret) >= MIN_SECRET_LENGTH), key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(_any_spelling, known))) if known else None

    def __call__(self, content: bytes) -> bytes:
        return content if self._pattern is None else self._pattern.sub(REDACTED.encode(), content)


def _any_spelling(secret: str) -> bytes:
    return b"".join(map(_spellings, secret))


def _spellings(character: str) -> bytes:
    """The longest ones first, or half of one would be left."""
    escaped, quoted = re.escape(f"\\u{ord(character):04x}"), f"%{ord(character):02x}"
    written = {character, quote(character, safe="")} | ({f"\\{character}"} if character in '/"\\' else set())
    plain = map(re.escape, sorted(written, key=len, reverse=True))
    return f"(?:(?i:{escaped}|{quoted})|{'|'.join(plain)})".encode()
