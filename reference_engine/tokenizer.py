"""The tokenizer and chat template of a model, read from its files without its weights."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tokenizers import Tokenizer

from reference_engine.chat import ChatTemplate
from reference_engine.errors import EngineRequestError
from reference_engine.interface import Message, Rendered, Tool
from reference_engine.tool_calls.family import Family, family_of

Spelling = Literal["byte-level", "sentencepiece", "plain"]


@dataclass(frozen=True, slots=True)
class TokenizerFacts:
    """What a model's files say about its tokens.

    `spelling` is how ordinary tokens spell bytes; `special` maps token ids that stand for themselves to their text;
    `control` are those among them that are never shown in an answer; `stops` end an answer; `digest` is a SHA-256 over
    everything that decides how text becomes ids; `vocab_size` counts ids, unused ones included.
    """

    spelling: Spelling
    vocab_size: int
    special: Mapping[int, str]
    control: frozenset[int]
    stops: frozenset[int]
    bos_id: int | None
    adds_bos: bool
    digest: str


@dataclass(slots=True)
class ModelTokenizer:
    """Implements TokenizerBackend. Safe for several threads."""

    backend: Tokenizer = field(repr=False)
    facts: TokenizerFacts
    template: ChatTemplate
    _verbatim: Tokenizer | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tokenize(self, text: str, *, parse_special: bool = True) -> list[int]:
        """Token ids of `text` alone, without a BOS. `parse_special` reads `<|…|>` and its like as control tokens."""
        backend = self.backend if parse_special else self._without_special()
        ids: list[int] = backend.encode(text, add_special_tokens=False).ids
        return ids

    def token_bytes(self, token_id: int) -> bytes:
        """The exact bytes a token stands for; b"" for ids of the vocabulary that no token uses."""
        special = self.facts.special.get(token_id)
        if special is not None:
            return special.encode()
        token = self.backend.id_to_token(token_id) if 0 <= token_id < self.facts.vocab_size else None
        if token is None:
            if 0 <= token_id < self.facts.vocab_size:
                return b""
            raise EngineRequestError(
                f"There is no token {token_id}.", remedy=f"Token ids run from 0 to {self.facts.vocab_size - 1}."
            )
        return spelled_bytes(token, self.facts.spelling)

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        *,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
    ) -> Rendered:
        text = self.template.render(
            messages, tools, chat_template=chat_template, add_generation_prompt=add_generation_prompt
        )
        told = self.template.tools_rendered(tools, chat_template=chat_template)
        return Rendered(text, tuple(self.tokenize(text)), told)

    def call_family(self, chat_template: str | None = None) -> Family:
        """How the model writes its calls of tools under its own template, or under one given with a request."""
        template = self.template.source if chat_template is None else chat_template
        return family_of(template, frozenset(self.facts.special.values()))

    def shown_bytes(self, token_id: int, besides: Container[int] = ()) -> bytes:
        """What a token adds to an answer: nothing for control tokens but those in `besides`."""
        hidden = token_id in self.facts.control and token_id not in besides
        return b"" if hidden else self.token_bytes(token_id)

    @property
    def largest_id(self) -> int:
        return max(self.backend.get_vocab(with_added_tokens=True).values(), default=-1)

    @property
    def template_digest(self) -> str:
        return hashlib.sha256((self.template.source or "").encode()).hexdigest()

    def _without_special(self) -> Tokenizer:
        with self._lock:
            if self._verbatim is None:
                verbatim = Tokenizer.from_str(self.backend.to_str())
                verbatim.encode_special_tokens = True
                self._verbatim = verbatim
            return self._verbatim


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's spelling of bytes: printable characters stand for themselves, the others are moved up past 255."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(moved)}


_BYTE_OF = _byte_alphabet()


def spelled_bytes(token: str, spelling: Spelling) -> bytes:
    """The bytes that the vocabulary entry `token` stands for."""
    if spelling == "byte-level":
        return b"".join(
            bytes((_BYTE_OF[character],)) if character in _BYTE_OF else character.encode() for character in token
        )
    if spelling == "sentencepiece":
        if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            return bytes((int(token[3:5], 16),))
        return token.replace("▁", " ").encode()
    return token.encode()
