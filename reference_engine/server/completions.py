"""POST /v1/completions: prompts of text or token ids in, one continuation each, whole or in chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from reference_engine.interface import SamplingParams
from reference_engine.server.envelope import Body, Envelope, usage
from reference_engine.server.logprobs import LegacyLogprobs, join_legacy
from reference_engine.server.schema import CompletionRequest, Prompt
from reference_engine.server.served import ServedModel

_DEFAULT_MAX_TOKENS = 16

LegacyEntry = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """`text` is what echo repeats."""

    text: str
    ids: tuple[int, ...]
    params: SamplingParams


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one choice's text with the log-probabilities of its tokens."""

    text: str
    entries: tuple[LegacyEntry, ...] = ()
    generated: int = 0
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class CompletionAnswer:
    """A request that was read and found good, ready to be generated; choice i continues prompt i."""

    served: ServedModel
    envelope: Envelope
    prompts: tuple[ReadPrompt, ...]
    echo: bool
    top_k: int | None
    wants_usage: bool

    @classmethod
    async def prepare(cls, served: ServedModel, request: CompletionRequest) -> CompletionAnswer:
        """Raises `ApiError` for what the model cannot serve: its name, a token id, a prompt's length."""
        model = served.check_name(request.model)
        return cls(
            served=served,
            envelope=Envelope.new("cmpl", model, served.fingerprint),
            prompts=tuple([await _read(served, request, prompt) for prompt in request.prompt]),
            echo=bool(request.echo),
            top_k=request.logprobs,
            wants_usage=request.include_usage,
        )

    async def whole(self) -> Body:
        choices, generated = [], 0
        async with self.served.turns.admitted():
            for index, prompt in enumerate(self.prompts):
                async with aclosing(self._pieces(prompt)) as source:
                    pieces = [piece async for piece in source]
                generated += sum(piece.generated for piece in pieces)
                entries = [entry for piece in pieces for entry in piece.entries]
                text = "".join(piece.text for piece in pieces)
                choices.append(self._choice(index, text, entries, pieces[-1].finish_reason))
        return self.envelope.body("text_completion", choices, usage=usage(self._prompt_tokens(), generated))

    async def chunks(self) -> AsyncGenerator[Body]:
        """For each prompt in turn the echo, one chunk a token and the finish reason; then the usage, if asked for."""
        generated = 0
        async with self.served.turns.admitted():
            for index, prompt in enumerate(self.prompts):
                finish_reason = None
                async with aclosing(self._pieces(prompt)) as pieces:
                    async for piece in pieces:
                        generated += piece.generated
                        finish_reason = piece.finish_reason
                        if piece.text or piece.entries:
                            yield self._chunk(self._choice(index, piece.text, piece.entries, None))
                yield self._chunk({"index": index, "text": "", "logprobs": None, "finish_reason": finish_reason})
        if self.wants_usage:
            yield self.envelope.body("text_completion", [], usage=usage(self._prompt_tokens(), generated))

    async def _pieces(self, prompt: ReadPrompt) -> AsyncGenerator[Piece]:
        shape = LegacyLogprobs(self.served.engine.token_bytes)
        if self.echo:
            yield await self._echoed(prompt, shape)
        if prompt.params.max_tokens == 0:
            return
        async with aclosing(self.served.tokens(prompt.ids, prompt.params)) as tokens:
            async for token in tokens:
                entries = () if self.top_k is None else (shape.entry(token.token_id, token.logprob, token.top),)
                yield Piece(token.text, entries, 1, token.finish_reason)

    async def _echoed(self, prompt: ReadPrompt, shape: LegacyLogprobs) -> Piece:
        finish_reason = "length" if prompt.params.max_tokens == 0 else None
        if self.top_k is None:
            return Piece(prompt.text, finish_reason=finish_reason)
        scored = await self.served.score(prompt.ids, self.top_k)
        entries = [shape.entry(prompt.ids[0], None, None)]
        entries += [
            shape.entry(prompt.ids[position.index], position.logprob, position.top)
            for position in scored.positions
            if 0 < position.index < len(prompt.ids)
        ]
        return Piece(prompt.text, tuple(entries), finish_reason=finish_reason)

    def _choice(self, index: int, text: str, entries: Any, finish_reason: str | None) -> dict[str, Any]:
        logprobs = None if self.top_k is None else join_legacy(entries)
        return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish_reason}

    def _chunk(self, choice: dict[str, Any]) -> Body:
        more = {"usage": None} if self.wants_usage else {}
        return self.envelope.body("text_completion", [choice], **more)

    def _prompt_tokens(self) -> int:
        return sum(len(prompt.ids) for prompt in self.prompts)


async def _read(served: ServedModel, request: CompletionRequest, prompt: Prompt) -> ReadPrompt:
    ids = await served.read_prompt(prompt)
    limit = served.answer_limit(len(ids), request.max_tokens, default=_DEFAULT_MAX_TOKENS)
    text = prompt if isinstance(prompt, str) else b"".join(map(served.engine.token_bytes, ids)).decode(errors="replace")
    return ReadPrompt(text, ids, served.sampling(request, limit, request.logprobs or 0))
