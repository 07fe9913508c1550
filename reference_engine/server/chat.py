"""POST /v1/chat/completions: one conversation in, one message out, whole or in chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from reference_engine.interface import GeneratedToken, SamplingParams
from reference_engine.server.envelope import Body, Choice, Envelope, usage
from reference_engine.server.logprobs import chat_entry
from reference_engine.server.schema import ChatRequest
from reference_engine.server.served import ServedModel


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A request that was read and found good, ready to be generated."""

    served: ServedModel
    envelope: Envelope
    ids: tuple[int, ...]
    params: SamplingParams
    wants_logprobs: bool
    wants_usage: bool

    @classmethod
    async def prepare(cls, served: ServedModel, request: ChatRequest) -> ChatAnswer:
        """Raises `ApiError` for what the model cannot serve: its name, the conversation, its length."""
        model = served.check_name(request.model)
        ids = await served.read_conversation(request.messages, request.tools)
        limit = served.answer_limit(len(ids), request.answer_limit, default=served.description.context_length)
        return cls(
            served=served,
            envelope=Envelope.new("chatcmpl", model, served.fingerprint),
            ids=ids,
            params=served.sampling(request, limit, request.top_logprobs or 0),
            wants_logprobs=bool(request.logprobs),
            wants_usage=request.include_usage,
        )

    async def whole(self) -> Body:
        texts: list[str] = []
        entries: list[dict[str, Any]] = []
        finish_reason = None
        async with self.served.turns.admitted(), aclosing(self.served.tokens(self.ids, self.params)) as tokens:
            async for token in tokens:
                texts.append(token.text)
                entries.append(self._entry(token))
                finish_reason = token.finish_reason
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": "".join(texts), "refusal": None},
            "logprobs": {"content": entries, "refusal": None} if self.wants_logprobs else None,
            "finish_reason": finish_reason,
        }
        return self.envelope.body("chat.completion", [choice], usage=usage(len(self.ids), len(entries)))

    async def chunks(self) -> AsyncGenerator[Body]:
        """The role, one chunk a token, the finish reason, and the usage where it was asked for."""
        count, finish_reason = 0, None
        async with self.served.turns.admitted(), aclosing(self.served.tokens(self.ids, self.params)) as tokens:
            async for token in tokens:
                if count == 0:
                    yield self._chunk({"role": "assistant", "content": "", "refusal": None})
                count += 1
                finish_reason = token.finish_reason
                if token.text or self.wants_logprobs:
                    logprobs = {"content": [self._entry(token)], "refusal": None} if self.wants_logprobs else None
                    yield self._chunk({"content": token.text}, logprobs)
        yield self._chunk({}, finish_reason=finish_reason)
        if self.wants_usage:
            yield self.envelope.body("chat.completion.chunk", [], usage=usage(len(self.ids), count))

    def _entry(self, token: GeneratedToken) -> dict[str, Any]:
        return chat_entry(self.served.engine.token_bytes, token.token_id, token.logprob, token.top)

    def _chunk(
        self, delta: dict[str, Any], logprobs: dict[str, Any] | None = None, finish_reason: str | None = None
    ) -> Body:
        choice: Choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}
        more = {"usage": None} if self.wants_usage else {}
        return self.envelope.body("chat.completion.chunk", [choice], **more)
