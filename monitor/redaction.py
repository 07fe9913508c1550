"""Keeps secrets out of everything that is printed or logged, and control characters out of the terminal."""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

REDACTED = "[redacted]"

# A shorter value ("none", "EMPTY") is a placeholder that servers without keys take; replacing it would garble messages.
MIN_SECRET_LENGTH = 6

# Layout, and the two joiners that several scripts and emoji are written with.
_KEPT_CONTROLS = "\n\t\u200c\u200d"

_VALUE = r"(?!\$\{)[^\s\"',;&\\}]+"
_LONG_VALUE = r"(?!\$\{)[A-Za-z0-9._~+/=-]{16,}"
# The words before the name proper are few and short here, so that no text can make the search slow.
_KEY_NAME = r"\b(?:[a-z0-9]{1,32}[-_]){0,4}(?:api[-_]?key|access[-_]?token|auth[-_]?token|client[-_]?secret|password)"

# Each pattern has one group: what stays. A bare `name: value` needs a long value, since prose looks like that too.
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(\bauthorization[\"']?\s*[:=,]\s*b?[\"']?(?:bearer|basic|token|digest|api-?key)\s+){_VALUE}",
        rf"(\bauthorization[\"']?\s*[:=,]\s*b?[\"']?){_LONG_VALUE}",
        rf"(\b(?:bearer|basic)\s+){_LONG_VALUE}",
        rf"({_KEY_NAME}[\"']?\s*=\s*b?[\"']?){_VALUE}",
        rf"({_KEY_NAME}[\"']\s*[:,]\s*b?[\"']){_VALUE}",
        rf"({_KEY_NAME}[\"']?\s*:\s*){_LONG_VALUE}",
        rf"([?&](?:key|token|sig|signature)=){_VALUE}",
        r"(\b)(?:sk|pk|rk|xai|gsk)[-_][A-Za-z0-9_-]{8,}",
        r"(\b)(?:hf|ghp|mon)_[A-Za-z0-9_]{16,}",
        r"(\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        r"(://)[^/\s@]+(?=@)",
    )
)


class KnownSecrets:
    """The values that were resolved in this process, in every spelling in which a message may hold them."""

    def __init__(self) -> None:
        self._spellings: set[str] = set()

    def add(self, secret: str) -> None:
        if len(secret) >= MIN_SECRET_LENGTH:
            self._spellings.update({secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]})

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._spellings))


KNOWN_SECRETS = KnownSecrets()


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without any of `secrets` and without what looks like a credential. Pure."""
    # Longest first, or a secret that begins with another one would keep its tail.
    exact = sorted((secret for secret in secrets if len(secret) >= MIN_SECRET_LENGTH), key=len, reverse=True)
    if exact:
        text = re.sub("|".join(map(re.escape, exact)), REDACTED, text)
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\1{REDACTED}", text)
    return text


def redact_known(text: str) -> str:
    """`redact` with every secret that this process has resolved."""
    return redact(text, KNOWN_SECRETS)


def safe_text(text: str) -> str:
    """`text` without the characters that steer a terminal or hide text: controls, bidirectional marks, surrogates."""
    return "".join(c for c in text if c in _KEPT_CONTROLS or unicodedata.category(c) not in {"Cc", "Cf", "Cs"})


class RedactingFormatter(logging.Formatter):
    """Formats as usual, then redacts the whole: message, arguments, exception texts and their chained causes."""

    def format(self, record: logging.LogRecord) -> str:
        return safe_text(redact_known(super().format(record)))

    def formatException(  # noqa: N802 - the name is logging's
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        # logging keeps this text on the record, where another handler would find it.
        return redact_known(super().formatException(ei))
