"""Log-probabilities of an answer's tokens, from the chat shape or the completions shape, as they came."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from probes.completion import TokenAlternative, TokenLogprob
from probes.wire.json_value import as_object, as_text
from probes.wire.surrogates import paired

CENSORED_FROM = -100.0
INVALID_ABOVE = 1e-3

_REPLACEMENT = "\ufffd"
# OpenAI's name for a token whose bytes are no text: `bytes:\xe2\x80`, what is printable written as it is.
_SPELLED = "bytes:"
_ESCAPED_BYTE = re.compile(rb"\\x([0-9a-fA-F]{2})")
_GPT_MARK, _SENTENCEPIECE_MARK = "\u0120", "\u2581"
_MARKERS = str.maketrans({_GPT_MARK: " ", _SENTENCEPIECE_MARK: " "})
# The alternatives of one answer come up again and again, in its own checks and in the next answers.
_TOKENS_KEPT = 16_384


class Shape(Enum):
    """`CHAT` lists one object a token; `COMPLETIONS` has parallel lists."""

    CHAT = auto()
    COMPLETIONS = auto()


@dataclass(frozen=True, slots=True)
class Reading:
    """One token with its value as received. `value` is None for null, NaN and what is no number; `raw_bytes` is None
    where no bytes came, `has_bytes` tells whether the key of their list was there at all."""

    token: str
    value: float | None
    raw_bytes: bytes | None = None
    has_bytes: bool = False

    @property
    def censored(self) -> bool:
        """Whether the value stands for "masked": nothing is known of the probability but that it is about 0."""
        return self.value is None or self.value <= CENSORED_FROM

    @property
    def marked(self) -> bool:
        """Whether the vocabulary's own sign for a space is in the token."""
        return _is_marked(self.token)

    @property
    def identity_lost(self) -> bool:
        """Whether U+FFFD stands where the token's bytes should."""
        return self.identity is None

    @property
    def identity(self) -> bytes | None:
        """The token's own bytes; None where they are lost."""
        return _identity(self.token, self.raw_bytes)

    def normalised(self) -> TokenAlternative:
        return TokenAlternative(_plain(self.token), self.identity, None if self.censored else self.value)


def _is_marked(token: str) -> bool:
    return _GPT_MARK in token or _SENTENCEPIECE_MARK in token


@lru_cache(maxsize=_TOKENS_KEPT)
def _plain(token: str) -> str:
    return paired(token.translate(_MARKERS))


@lru_cache(maxsize=_TOKENS_KEPT)
def _identity(token: str, raw: bytes | None) -> bytes | None:
    if _REPLACEMENT in token if raw is None else _REPLACEMENT.encode() in raw:
        return None
    # Bytes that spell out the vocabulary's sign were made from the token's string.
    if raw is None or (_is_marked(token) and raw == paired(token).encode()):
        return _plain(token).encode()
    return raw


@dataclass(frozen=True, slots=True)
class Position:
    """One place in the answer: the sampled token and its alternatives, None where no list came."""

    sampled: Reading
    top: tuple[Reading, ...] | None

    def normalised(self) -> TokenLogprob:
        top = None if self.top is None else tuple(reading.normalised() for reading in self.top)
        return TokenLogprob(self.sampled.normalised(), top)


def shape_of(logprobs: object) -> Shape | None:
    """The shape, told by its keys; None where there are no log-probabilities."""
    if isinstance(logprobs, list):
        return Shape.CHAT if logprobs else None
    keys = as_object(logprobs)
    if isinstance(keys.get("content"), list) or isinstance(keys.get("refusal"), list):
        return Shape.CHAT
    return Shape.COMPLETIONS if isinstance(keys.get("tokens"), list) else None


def positions_in(logprobs: Any) -> list[Position]:
    """Every position of one `logprobs` value of whatever shape; none where it has none."""
    shape = shape_of(logprobs)
    if shape is Shape.CHAT:
        entries = logprobs if isinstance(logprobs, list) else logprobs.get("content") or logprobs.get("refusal")
        return [_chat_position(entry) for entry in entries or () if isinstance(entry, dict)]
    return _parallel_positions(logprobs) if shape is Shape.COMPLETIONS else []


def _chat_position(entry: Mapping[str, Any]) -> Position:
    top = entry.get("top_logprobs")
    alternatives = tuple(map(_chat_reading, filter(_is_object, top))) if isinstance(top, list) else None
    return Position(_chat_reading(entry), alternatives)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _chat_reading(entry: Mapping[str, Any]) -> Reading:
    return Reading(
        as_text(entry.get("token")), _value(entry.get("logprob")), _bytes(entry.get("bytes")), "bytes" in entry
    )


def _parallel_positions(logprobs: Mapping[str, Any]) -> list[Position]:
    tokens = logprobs["tokens"]
    values, tops = (_list(logprobs.get(key))[: len(tokens)] for key in ("token_logprobs", "top_logprobs"))
    return [
        Position(_named_reading(as_text(token), value), _parallel_top(top))
        for token, value, top in zip_longest(tokens, values, tops)
    ]


def _parallel_top(top: object) -> tuple[Reading, ...] | None:
    if isinstance(top, dict):
        return tuple(_named_reading(token, value) for token, value in top.items())
    return tuple(map(_chat_reading, filter(_is_object, top))) if isinstance(top, list) else None


def _named_reading(name: str, value: object) -> Reading:
    """A token of the completions shape, which has no byte lists: of bytes that are no text, the name spells them."""
    raw = None
    if name.startswith(_SPELLED) and "\\x" in name:
        raw = _ESCAPED_BYTE.sub(_unescaped, paired(name.removeprefix(_SPELLED)).encode())
    return Reading(name, _value(value), raw)


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return bytes.fromhex(escape[1].decode())


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _value(value: object) -> float | None:
    """A number, also one written as a string, as servers do that cannot write -Infinity; None for all else and NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _bytes(value: object) -> bytes | None:
    try:
        return bytes(value) if isinstance(value, list) else None
    except (TypeError, ValueError):
        return None


def as_lists(positions: Iterable[TokenLogprob]) -> dict[str, Any]:
    """The form in which replay shows them: tokens, their values, and a token-to-value object for each position."""
    found = list(positions)
    tops = [{item.token: item.logprob for item in position.top or ()} for position in found]
    return {
        "tokens": [position.sampled.token for position in found],
        "logprobs": [position.sampled.logprob for position in found],
        "top": tops if any(tops) else None,
    }
