"""POST /v1/completions: prompts of text or token ids in, one continuation each, whole or in chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from reference_engine.interface import SamplingParams
from reference_engine.server.envelope import Body, Choice, Envelope, usage
from reference_engine.server.logprobs import LegacyLogprobs, join_legacy
from reference_engine.server.prompt_logprobs import prompt_logprobs
from reference_engine.server.schema import CompletionRequest, Prompt
from reference_engine.server.served import ServedModel
from reference_engine.server.together import all_of, together
from reference_engine.server.values import check_values

_DEFAULT_MAX_TOKENS = 16

LegacyEntry = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """`text` is what echo repeats; `params` are those of its answers, one each."""

    text: str
    ids: tuple[int, ...]
    params: tuple[SamplingParams, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one choice's text with its tokens and their log-probabilities; `generated` where it is no echo."""

    text: str
    entries: tuple[LegacyEntry, ...] = ()
    generated: tuple[int, ...] = ()
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class CompletionAnswer:
    """A request that was read and found good, ready to be generated. Of n answers to each prompt, choice i * n + k is
    the k-th to prompt i."""

    served: ServedModel
    envelope: Envelope
    prompts: tuple[ReadPrompt, ...]
    request: CompletionRequest

    @classmethod
    async def prepare(cls, served: ServedModel, request: CompletionRequest) -> CompletionAnswer:
        """Raises `ApiError` for what the model cannot serve: its name, a token id, a prompt's length."""
        envelope = Envelope.new("cmpl", served.check_name(request.model), served)
        prompts = tuple([await _read(served, request, prompt) for prompt in request.prompt])
        _check_values(request, sum(len(prompt.ids) for prompt in prompts))
        return cls(served, envelope, prompts, request)

    async def whole(self) -> Body:
        found: list[list[Piece]] = [[] for _ in self._asked()]
        async with self.served.turns.admitted(), aclosing(self._coming()) as coming:
            scored = await self._prompt_logprobs()
            async for index, piece in coming:
                found[index].append(piece)
        choices = [
            {**self._choice(index, pieces, pieces[-1].finish_reason), **scored[index], **self._prompt_ids(index)}
            for index, pieces in enumerate(found)
        ]
        generated = sum(len(piece.generated) for pieces in found for piece in pieces)
        return self.envelope.body("text_completion", choices, usage=self._usage(generated))

    async def chunks(self) -> AsyncGenerator[Body]:
        """Of each choice the echo, one chunk a token and the finish reason, as they come; then the usage, if asked."""
        generated, begun = 0, set[int]()
        async with self.served.turns.admitted(), aclosing(self._coming()) as coming:
            async for index, piece in coming:
                generated += len(piece.generated)
                if piece.text or piece.entries or self.request.return_token_ids:
                    prompt = {} if index in begun else self._prompt_ids(index)
                    begun.add(index)
                    yield self._chunk({**self._choice(index, [piece], None), **prompt})
                if piece.finish_reason is not None:
                    yield self._chunk(
                        {"index": index, "text": "", "logprobs": None, "finish_reason": piece.finish_reason}
                    )
        if self.request.include_usage:
            yield self.envelope.body("text_completion", [], usage=self._usage(generated))

    def _asked(self) -> list[tuple[ReadPrompt, SamplingParams]]:
        """In the order of the choices."""
        return [(prompt, params) for prompt in self.prompts for params in prompt.params]

    def _coming(self) -> AsyncGenerator[tuple[int, Piece]]:
        return together([self._pieces(prompt, params) for prompt, params in self._asked()])

    async def _pieces(self, prompt: ReadPrompt, params: SamplingParams) -> AsyncGenerator[Piece]:
        shape = LegacyLogprobs(self.served.engine.token_bytes)
        if self.request.echo:
            yield await self._echoed(prompt, shape)
        if params.max_tokens == 0:
            yield Piece("", finish_reason="length")
            return
        async with aclosing(self.served.tokens(prompt.ids, params)) as tokens:
            async for token in tokens:
                entry = shape.entry(token.token_id, token.logprob, token.top)
                yield Piece(token.text, (entry,) if self._with_logprobs else (), (token.token_id,), token.finish_reason)

    async def _echoed(self, prompt: ReadPrompt, shape: LegacyLogprobs) -> Piece:
        if self.request.logprobs is None:
            return Piece(prompt.text)
        scored = await self.served.score(prompt.ids, self.request.logprobs)
        entries = [shape.entry(prompt.ids[0], None, None)]
        entries += [
            shape.entry(prompt.ids[position.index], position.logprob, position.top)
            for position in scored.positions
            if 0 < position.index < len(prompt.ids)
        ]
        return Piece(prompt.text, tuple(entries))

    async def _prompt_logprobs(self) -> list[Body]:
        """What it adds to each choice."""
        top_k = self.request.prompt_logprobs
        if top_k is None:
            return [{} for _ in self._asked()]
        scored = await all_of(self.served.score(prompt.ids, top_k) for prompt in self.prompts)
        shown = [{"prompt_logprobs": prompt_logprobs(one, self.served.engine.token_bytes)} for one in scored]
        return [one for one in shown for _ in range(self.request.answers)]

    def _prompt_ids(self, index: int) -> Body:
        if not self.request.return_token_ids:
            return {}
        return {"prompt_token_ids": list(self.prompts[index // self.request.answers].ids)}

    def _choice(self, index: int, pieces: Sequence[Piece], finish_reason: str | None) -> Choice:
        entries = [entry for piece in pieces for entry in piece.entries]
        choice: Choice = {
            "index": index,
            "text": "".join(piece.text for piece in pieces),
            "logprobs": join_legacy(entries) if self._with_logprobs else None,
            "finish_reason": finish_reason,
        }
        if self.request.return_token_ids:
            choice["token_ids"] = [token_id for piece in pieces for token_id in piece.generated]
        return choice

    def _chunk(self, choice: Choice) -> Body:
        more = {"usage": None} if self.request.include_usage else {}
        return self.envelope.body("text_completion", [choice], **more)

    @property
    def _with_logprobs(self) -> bool:
        return self.request.logprobs is not None

    def _usage(self, generated: int) -> Body:
        return usage(sum(len(prompt.ids) for prompt in self.prompts), generated)


async def _read(served: ServedModel, request: CompletionRequest, prompt: Prompt) -> ReadPrompt:
    ids = await served.read_prompt(prompt)
    limit = served.answer_limit(len(ids), request.max_tokens, default=_DEFAULT_MAX_TOKENS)
    text = prompt if isinstance(prompt, str) else b"".join(map(served.engine.token_bytes, ids)).decode(errors="replace")
    params = [
        served.sampling(request, limit, request.logprobs or 0, answer=number) for number in range(request.answers)
    ]
    return ReadPrompt(text, ids, tuple(params))


def _check_values(request: CompletionRequest, prompt_tokens: int) -> None:
    """Echoed prompts are repeated in each answer, and so are their log-probabilities."""
    asked = [request.logprobs if request.echo else None, request.prompt_logprobs]
    values = sum(1 + top_k for top_k in asked if top_k is not None) * prompt_tokens * request.answers
    check_values(values, "prompt", "Ask for fewer prompts at a time, or a smaller n, logprobs or prompt_logprobs.")
