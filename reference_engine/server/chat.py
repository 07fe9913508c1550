"""POST /v1/chat/completions: one conversation in, one message or several out, whole or in chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from reference_engine.constraint import Constraint
from reference_engine.interface import Rendered, SamplingParams
from reference_engine.server.choice import ChoiceReader, Piece, message_of
from reference_engine.server.deltas import Delta, Deltas
from reference_engine.server.envelope import Body, Choice, Envelope, usage
from reference_engine.server.held import constraint_of
from reference_engine.server.logprobs import chat_entry, finite
from reference_engine.server.prompt_logprobs import prompt_logprobs
from reference_engine.server.schema import ChatRequest
from reference_engine.server.served import ServedModel
from reference_engine.server.together import together
from reference_engine.server.values import check_values
from reference_engine.structure import CallForm
from reference_engine.tool_calls import CallParser

_NO_TOKENS: Mapping[str, Any] = {"logprobs": None}


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A request that was read and found good, ready to be generated; choice i is drawn with `params[i]`.

    `form` is how its calls of tools are written, None where none are looked for.
    """

    served: ServedModel
    request: ChatRequest
    envelope: Envelope
    prompt: Rendered
    params: tuple[SamplingParams, ...]
    form: CallForm | None
    constraint: Constraint | None

    @classmethod
    async def prepare(cls, served: ServedModel, request: ChatRequest) -> ChatAnswer:
        """Raises `ApiError` for what the model cannot serve: its name, the conversation, its length, a schema."""
        model = served.check_name(request.model)
        prompt = await served.read_conversation(request.messages, request.tools)
        limit = served.answer_limit(len(prompt.ids), request.answer_limit, default=served.bare_answer_tokens)
        _check_values(request, prompt)
        structure = served.engine.structure
        form = structure.call_form(served.settings.chat_template) if request.may_call else None
        shown = () if form is None else form.markers
        top_k = request.top_logprobs or 0
        params = [served.sampling(request, limit, top_k, answer=index) for index in range(request.answers)]
        return cls(
            served=served,
            request=request,
            envelope=Envelope.new("chatcmpl", model, served),
            prompt=prompt,
            params=tuple(replace(each, shown=shown) for each in params),
            form=form,
            constraint=await constraint_of(structure, request, form),
        )

    async def whole(self) -> Body:
        found: list[list[Piece]] = [[] for _ in self.params]
        async with self.served.turns.admitted():
            more = await self._about_the_prompt()
            async with aclosing(together(self._sources())) as coming:
                async for index, piece in coming:
                    found[index].append(piece)
        choices = [self._whole_choice(index, pieces) for index, pieces in enumerate(found)]
        counted = usage(len(self.prompt.ids), sum(map(len, found)))
        return self.envelope.body("chat.completion", choices, usage=counted, **more)

    async def chunks(self) -> AsyncGenerator[Body]:
        """Of each choice the role, one chunk a token and the finish reason; then the usage where it was asked for."""
        every_token = bool(self.request.logprobs or self.request.return_token_ids)
        deltas = [Deltas(may_call=self.form is not None, every_token=every_token) for _ in self.params]
        count = 0
        async with self.served.turns.admitted(), aclosing(together(self._sources())) as coming:
            async for index, piece in coming:
                count += 1
                tokens: Mapping[str, Any] = self._about_tokens([piece])
                for delta in deltas[index].of(piece):
                    if "role" in delta:
                        yield self._chunk(index, delta, **self._prompt_ids())
                    else:
                        yield self._chunk(index, delta, tokens)
                        tokens = _NO_TOKENS
                if piece.finish_reason is not None:
                    yield self._chunk(index, {}, finish_reason=piece.finish_reason)
        if self.request.include_usage:
            counted = usage(len(self.prompt.ids), count)
            yield self.envelope.body("chat.completion.chunk", [], usage=counted, **self._about_tools())

    def _sources(self) -> list[AsyncGenerator[Piece]]:
        return [self._pieces(index) for index in range(len(self.params))]

    async def _pieces(self, index: int) -> AsyncGenerator[Piece]:
        parser = None if self.form is None else CallParser(self.form.family, f"{self.envelope.id} {index}")
        reader = ChoiceReader(parser, several=self.request.several_calls)
        async with aclosing(self.served.tokens(self.prompt.ids, self.params[index], self.constraint)) as tokens:
            async for token in tokens:
                piece = reader.take(token)
                yield piece
                if piece.finish_reason is not None:
                    return

    def _whole_choice(self, index: int, pieces: Sequence[Piece]) -> Choice:
        return {
            "index": index,
            "message": message_of(pieces),
            **self._about_tokens(pieces),
            "finish_reason": pieces[-1].finish_reason,
        }

    def _about_tokens(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        entries = [self._entry(piece) for piece in pieces] if self.request.logprobs else None
        logprobs = None if entries is None else {"content": entries, "refusal": None}
        ids = {"token_ids": [piece.token.token_id for piece in pieces]} if self.request.return_token_ids else {}
        return {"logprobs": logprobs, **ids}

    def _entry(self, piece: Piece) -> dict[str, Any]:
        token = piece.token
        entry = chat_entry(self.served.engine.token_bytes, token.token_id, token.logprob, token.top)
        return entry if token.masked_logprob is None else {**entry, "masked_logprob": finite(token.masked_logprob)}

    def _chunk(
        self,
        index: int,
        delta: Delta,
        tokens: Mapping[str, Any] = _NO_TOKENS,
        finish_reason: str | None = None,
        **more: Any,
    ) -> Body:
        choice = {"index": index, "delta": delta, **tokens, "finish_reason": finish_reason}
        unused = {"usage": None} if self.request.include_usage else {}
        return self.envelope.body("chat.completion.chunk", [choice], **unused, **self._about_tools(), **more)

    async def _about_the_prompt(self) -> dict[str, Any]:
        about = {**self._about_tools(), **self._prompt_ids()}
        if self.request.prompt_logprobs is None:
            return about
        scored = await self.served.score(self.prompt.ids, self.request.prompt_logprobs)
        return {**about, "prompt_logprobs": prompt_logprobs(scored, self.served.engine.token_bytes)}

    def _prompt_ids(self) -> dict[str, Any]:
        return {"prompt_token_ids": list(self.prompt.ids)} if self.request.return_token_ids else {}

    def _about_tools(self) -> dict[str, Any]:
        return {"tools_rendered": self.prompt.tools_rendered} if self.request.tools else {}


def _check_values(request: ChatRequest, prompt: Rendered) -> None:
    if request.prompt_logprobs is not None:
        values = (1 + request.prompt_logprobs) * len(prompt.ids)
        check_values(values, "prompt_logprobs", "Ask for fewer prompt_logprobs.")
