"""Log-probabilities in the two shapes of the OpenAI API: entries of objects (chat) and parallel lists (completions)."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Top = Sequence[tuple[int, float]]
TokenBytes = Callable[[int], bytes]

# What the API writes where a probability is zero; JSON has no infinity.
_ZERO_PROBABILITY = -9999.0


def chat_entry(token_bytes: TokenBytes, token_id: int, logprob: float, top: Top) -> dict[str, Any]:
    """One element of `logprobs.content`; `top` keeps its order, most likely first."""
    alternatives = [_alternative(token_bytes(one), value) for one, value in top]
    return {**_alternative(token_bytes(token_id), logprob), "top_logprobs": alternatives}


def _alternative(raw: bytes, logprob: float) -> dict[str, Any]:
    return {"token": raw.decode(errors="replace"), "logprob": finite(logprob), "bytes": list(raw)}


def finite(logprob: float) -> float:
    return max(logprob, _ZERO_PROBABILITY)


def legacy_name(raw: bytes) -> str:
    """A token as the completions shape names it: bytes that are no text are escaped, so that names stay distinct."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)


@dataclass(slots=True)
class LegacyLogprobs:
    """The completions shape of one choice, token by token; `text_offset` counts characters of the choice's text."""

    token_bytes: TokenBytes
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )
    _offset: int = 0

    def entry(self, token_id: int, logprob: float | None, top: Top | None) -> dict[str, list[Any]]:
        """The lists of one token. The sampled token is always among its alternatives, which may so be one more."""
        raw = self.token_bytes(token_id)
        alternatives = None if logprob is None else self._alternatives(raw, logprob, top or ())
        offset = self._offset
        self._offset += len(self._decoder.decode(raw))
        return {
            "tokens": [legacy_name(raw)],
            "token_logprobs": [None if logprob is None else finite(logprob)],
            "top_logprobs": [alternatives],
            "text_offset": [offset],
        }

    def _alternatives(self, sampled: bytes, logprob: float, top: Top) -> dict[str, float]:
        named: dict[str, float] = {}
        for token_id, value in top:
            named.setdefault(legacy_name(self.token_bytes(token_id)), finite(value))
        named.setdefault(legacy_name(sampled), finite(logprob))
        return named


def join_legacy(entries: Sequence[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    keys = ("tokens", "token_logprobs", "top_logprobs", "text_offset")
    return {key: [value for entry in entries for value in entry[key]] for key in keys}
