"""Keeps keys and private prompts out of whatever is stored, raised or shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

REDACTED = "[redacted]"
PROMPT = "[prompt]"
EXCERPT_CHARS = 80

# A shorter value ("none", "EMPTY") is a placeholder; replacing it would garble ordinary text.
_SHORTEST_SECRET = 6
# Long enough that ordinary words of an error message do not look like a quotation of the prompt.
_QUOTE_CHARS = 16
_READ_CHARS = 2000
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces known secrets. Its repr shows none of them."""

    secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, secrets: Iterable[str]) -> Redactor:
        plain = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
        # In JSON a slash may be written either way.
        known = plain | {secret.replace("/", "\\/") for secret in plain}
        return cls(tuple(sorted(known, key=len, reverse=True)))

    def text(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, REDACTED)
        return text

    def body(self, body: bytes) -> bytes:
        for secret in self.secrets:
            body = body.replace(secret.encode(), REDACTED.encode())
        return body

    def excerpt(self, text: str, request: Mapping[str, Any], *, limit: int = EXCERPT_CHARS) -> str:
        """The start of what a server said, on one line, without keys, control characters or parts of the prompts."""
        shown = _INVISIBLE.sub(" ", self.text(text[:_READ_CHARS])).strip()
        for prompt in _strings({name: value for name, value in request.items() if name != "model"}):
            shown = _without_quotes(shown, _INVISIBLE.sub(" ", prompt))
        return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _without_quotes(text: str, prompt: str) -> str:
    quoted = [start for start in range(len(text) - _QUOTE_CHARS + 1) if text[start : start + _QUOTE_CHARS] in prompt]
    hidden = {position for start in quoted for position in range(start, start + _QUOTE_CHARS)}
    if not hidden:
        return text
    marked = "".join("\0" if position in hidden else letter for position, letter in enumerate(text))
    return re.sub("\0+", PROMPT, marked)


def _strings(value: Any) -> Iterator[str]:
    """Every text that is long enough to be told from everyday words."""
    if isinstance(value, str):
        if len(value) >= _QUOTE_CHARS:
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
