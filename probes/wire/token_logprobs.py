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
class Name:
    """A token as it was named. `plain` is its string without the vocabulary's signs, `identity` the token's own bytes
    (None where U+FFFD stands in their place), `marked` whether the vocabulary's own sign for a space is in it."""

    token: str
    plain: str
    identity: bytes | None
    marked: bool


@lru_cache(maxsize=_TOKENS_KEPT)
def _name(token: str, raw: bytes | None) -> Name:
    marked = _GPT_MARK in token or _SENTENCEPIECE_MARK in token
    plain = paired(token.translate(_MARKERS))
    return Name(token, plain, _identity(token, raw, plain, marked=marked), marked)


def _identity(token: str, raw: bytes | None, plain: str, *, marked: bool) -> bytes | None:
    if _REPLACEMENT in token if raw is None else _REPLACEMENT.encode() in raw:
        return None
    # Bytes that spell out the vocabulary's sign were made from the token's string.
    if raw is None or (marked and raw == paired(token).encode()):
        return plain.encode()
    return raw


@dataclass(frozen=True, slots=True)
class Reading:
    """One token with its value as received. `value` is None for null, NaN and what is no number; `has_bytes` tells
    whether the key of its bytes was there at all."""

    name: Name
    value: float | None
    has_bytes: bool = False

    @property
    def censored(self) -> bool:
        """Whether the value stands for "masked": nothing is known of the probability but that it is about 0."""
        return self.value is None or self.value <= CENSORED_FROM

    def normalised(self) -> TokenAlternative:
        name, value = self.name, self.value
        known = value is not None and value > CENSORED_FROM
        return TokenAlternative(name.plain, name.identity, value if known else None)


@dataclass(frozen=True, slots=True)
class Position:
    """One place in the answer: the sampled token and its alternatives, None where no list came."""

    sampled: Reading
    top: tuple[Reading, ...] | None

    def normalised(self) -> TokenLogprob:
        top = None if self.top is None else tuple([reading.normalised() for reading in self.top])
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
    return Position(_chat_reading(entry), _chat_top(top) if isinstance(top, list) else None)


def _chat_top(top: list[Any]) -> tuple[Reading, ...]:
    return tuple([_chat_reading(entry) for entry in top if isinstance(entry, dict)])


def _chat_reading(entry: Mapping[str, Any]) -> Reading:
    name = _name(as_text(entry.get("token")), _bytes(entry.get("bytes")))
    return Reading(name, _value(entry.get("logprob")), "bytes" in entry)


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
    return _chat_top(top) if isinstance(top, list) else None


def _named_reading(name: str, value: object) -> Reading:
    """A token of the completions shape, which has no byte lists: of bytes that are no text, the name spells them."""
    raw = None
    if name.startswith(_SPELLED) and "\\x" in name:
        raw = _ESCAPED_BYTE.sub(_unescaped, paired(name.removeprefix(_SPELLED)).encode())
    return Reading(_name(name, raw), _value(value))


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return bytes.fromhex(escape[1].decode())


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _value(value: object) -> float | None:
    """A number, also one written as a string, as servers do that cannot write -Infinity; None for all else and NaN."""
    if type(value) is float:  # as nearly all are
        return None if math.isnan(value) else value
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
