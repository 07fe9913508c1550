"""Text and JSON on their way into a column."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from monitor.redaction import KNOWN_SECRETS, REDACTED, safe_text


def foreign_text(text: str | None, limit: int) -> str | None:
    """What an endpoint said, fit for a column: without secrets, control characters and lone surrogates, cut to `limit`
    characters."""
    return None if text is None else safe_text(without_secrets(text[: 4 * limit]))[:limit]


def foreign_id(text: str | None, limit: int) -> str | None:
    """An identifier that an endpoint gave, as `foreign_text`. What has spaces is none: an endpoint may repeat a private
    prompt there, so that only a digest of it is kept, by which it is still told from others."""
    name = foreign_text(text, limit)
    if name is None or not any(character.isspace() for character in name):
        return name
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()[:16]}"[:limit]


def without_secrets(text: str) -> str:
    """`text` with the keys that this process uses replaced: what an endpoint may repeat of them.

    Nothing else is, so that answers are kept as they came; and the time grows with the length alone, whatever an
    endpoint sends.
    """
    for secret in sorted(KNOWN_SECRETS, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    return text


def json_digest(value: Any) -> str:
    """SHA-256 over the canonical JSON of `value`, as 64 hexadecimal digits: equal values have equal digests."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
