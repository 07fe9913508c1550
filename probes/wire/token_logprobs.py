"""Log-probabilities of an answer's tokens, from the chat shape or the completions shape, as they came."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import zip_longest
from typing import Any

from probes.completion import TokenAlternative, TokenLogprob
from probes.wire.json_value import as_object, as_text
from probes.wire.surrogates import paired

CENSORED_FROM = -100.0
INVALID_ABOVE = 1e-3

_REPLACEMENT = "\ufffd"
_MARKERS = str.maketrans({"\u0120": " ", "\u2581": " "})


class Shape(Enum):
    """`CHAT` lists one object a token; `COMPLETIONS` has parallel lists."""

    CHAT = auto()
    COMPLETIONS = auto()


@dataclass(frozen=True, slots=True)
class Reading:
    """One token with its value as received. `value` is None for null, NaN and what is no number; `raw_bytes` is None
    where no byte list came, `has_bytes` tells whether its key was there at all."""

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
        return self.token != self.token.translate(_MARKERS)

    @property
    def identity_lost(self) -> bool:
        """Whether U+FFFD stands where the token's bytes should."""
        if self.raw_bytes is not None:
            return _REPLACEMENT.encode() in self.raw_bytes
        return _REPLACEMENT in self.token

    @property
    def identity(self) -> bytes | None:
        """The token's own bytes; None where they are lost."""
        if self.identity_lost:
            return None
        # Bytes that spell out the vocabulary's sign were made from the token's string.
        if self.raw_bytes is None or (self.marked and self.raw_bytes == paired(self.token).encode()):
            return paired(self.token.translate(_MARKERS)).encode()
        return self.raw_bytes

    def normalised(self) -> TokenAlternative:
        token = paired(self.token.translate(_MARKERS))
        return TokenAlternative(token, self.identity, None if self.censored else self.value)


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
        Position(Reading(as_text(token), _value(value)), _parallel_top(top))
        for token, value, top in zip_longest(tokens, values, tops)
    ]


def _parallel_top(top: object) -> tuple[Reading, ...] | None:
    if isinstance(top, dict):
        return tuple(Reading(token, _value(value)) for token, value in top.items())
    return tuple(map(_chat_reading, filter(_is_object, top))) if isinstance(top, list) else None


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
