"""The bodies of a reference service's routes, and what a tokenizer or an engine answers to each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import Headers

from reference_engine import wire
from reference_engine.errors import EngineRequestError
from reference_engine.interface import GeneratedToken, ReferenceBackend, SamplingParams, TokenizerBackend
from reference_engine.server.errors import ApiError

_BLOCK = 1024
# `wire.number` writes what JSON cannot as text; whether such a value will do is the engine's to say.
_Number = Annotated[float, Field(strict=False)]


class Question(BaseModel):
    """`revision` is what `open` gave: without it, whatever the files hold by now answers."""

    model_config = ConfigDict(strict=True, extra="forbid")

    model: str = Field(min_length=1, max_length=4096)
    revision: str | None = None

    def answer(self, backend: Any) -> wire.Document:  # noqa: ARG002
        """`open` asks for nothing but the revision."""
        return {}


class Tokenize(Question):
    text: str
    parse_special: bool

    def answer(self, backend: TokenizerBackend) -> wire.Document:
        return {"ids": backend.tokenize(self.text, parse_special=self.parse_special)}


class TokenBytes(Question):
    token_id: int

    def answer(self, backend: TokenizerBackend) -> wire.Document:
        """The token's bytes, and those of its neighbours that exist. Raises EngineRequestError for an unknown token."""
        found = {self.token_id: backend.token_bytes(self.token_id)}
        first = self.token_id - self.token_id % _BLOCK
        for token_id in range(first, first + _BLOCK):
            try:
                found[token_id] = backend.token_bytes(token_id)
            except EngineRequestError:
                break
        return wire.token_bytes_document(found)


class Render(Question):
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    chat_template: str | None
    add_generation_prompt: bool

    def answer(self, backend: TokenizerBackend) -> wire.Document:
        rendered = backend.render(
            self.messages,
            self.tools,
            chat_template=self.chat_template,
            add_generation_prompt=self.add_generation_prompt,
        )
        return wire.rendered_document(rendered)


class Describe(Question):
    def answer(self, backend: ReferenceBackend) -> wire.Document:
        return {"description": wire.description_document(backend.describe())}


class Fingerprint(Question):
    profile: str

    def answer(self, backend: ReferenceBackend) -> wire.Document:
        return {"fingerprint": backend.fingerprint(self.profile)}


class Score(Question):
    ids: list[int]
    start: int
    top_k: int
    token_ids: list[int] | None
    profile: str

    def answer(self, backend: ReferenceBackend) -> wire.Document:
        scored = backend.score(
            self.ids, start=self.start, top_k=self.top_k, token_ids=self.token_ids, profile=self.profile
        )
        return wire.scored_document(scored)


class NextTokens(Question):
    prompts: list[list[int]]
    top_k: int
    token_ids: list[list[int]] | None
    profile: str

    def answer(self, backend: ReferenceBackend) -> wire.Document:
        found = backend.next_tokens(self.prompts, top_k=self.top_k, token_ids=self.token_ids, profile=self.profile)
        return {"distributions": [wire.distribution_document(each) for each in found]}


class Params(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    max_tokens: int
    temperature: _Number
    top_p: _Number
    seed: int | None
    stop: tuple[str, ...]
    top_k_logprobs: int
    ignore_eos: bool
    shown: tuple[int, ...]


class Generate(Question):
    ids: list[int]
    params: Params
    profile: str

    def started(self, backend: ReferenceBackend) -> Iterator[GeneratedToken]:
        return backend.generate(self.ids, SamplingParams(**self.params.model_dump()), profile=self.profile)


class Converse(Question):
    profile: str


def check_is_json(headers: Headers) -> None:
    """A web page in a browser on this machine can send other types without asking. Raises ApiError."""
    if headers.get("content-type") != "application/json":
        raise ApiError("The body was not read: its Content-Type is not application/json.", http_status=415)
