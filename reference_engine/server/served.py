"""The one model a server process answers for: its names, how it reads a request, and its tokens as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from reference_engine.errors import EngineError
from reference_engine.figures import Instrumented
from reference_engine.interface import (
    Exactness,
    GeneratedToken,
    Message,
    Rendered,
    SamplingParams,
    Scored,
    ServableBackend,
    Tool,
)
from reference_engine.scoring import Interruptible
from reference_engine.server.conversation import ChatMessage, ToolDefinition, conversation, declared
from reference_engine.server.errors import ApiError
from reference_engine.server.schema import Prompt, SamplingRequest
from reference_engine.server.settings import ServerSettings
from reference_engine.server.several import seed_of
from reference_engine.server.tally import Tally
from reference_engine.server.turns import Turns
from reference_engine.token_stream import TokenStream

if TYPE_CHECKING:
    from reference_engine.constraint import Constraint

_REPLACEMENT = "\ufffd"


class ServedModel:
    """Raises `EngineRequestError` at once where the settings do not suit the model."""

    def __init__(self, engine: ServableBackend, settings: ServerSettings) -> None:
        self.description = engine.describe()
        self.engine = engine
        self.settings = settings
        self.fingerprint = engine.fingerprint(settings.profile)
        self.exactness, self.remark = _self_test(engine, settings.profile)
        self.turns = Turns(settings.active_limit, settings.queue_limit)
        self.tally = Tally()

    @property
    def name(self) -> str:
        return self.settings.served_name or self.settings.listed_name or self.description.name

    @property
    def bare_answer_tokens(self) -> int:
        """What an answer may have whose request does not say."""
        return self.settings.bare_answer_tokens or self.description.context_length

    def warm_up(self) -> None:
        """Prepares the profile's weights, and shows that the chat template reads a conversation, before any request."""
        if self.settings.chat_template is not None:
            self._render([{"role": "user", "content": "Hello"}], None)
        self.engine.next_tokens([[0]], top_k=1, profile=self.settings.profile)

    def check_name(self, requested: str) -> str:
        """The name an answer carries. Raises `ApiError` (404) for a name this process does not serve."""
        if self.settings.served_name not in (None, requested):
            message = f"The model {requested!r} does not exist; this server serves {self.settings.served_name!r}."
            raise ApiError(message, http_status=404, wire_code="model_not_found", param="model")
        return requested

    async def read_conversation(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolDefinition] | None
    ) -> Rendered:
        opened = conversation(messages, self.settings.system_prompt)
        rendered = await asyncio.to_thread(self._render, opened, declared(tools))
        self._check_length(rendered.ids, "messages")
        self.tally.prompt_tokens += len(rendered.ids)
        return rendered

    async def read_prompt(self, prompt: Prompt, param: str = "prompt") -> tuple[int, ...]:
        ids = tuple(await asyncio.to_thread(self.engine.tokenize, prompt) if isinstance(prompt, str) else prompt)
        self.check_ids(ids, param)
        self._check_length(ids, param)
        self.tally.prompt_tokens += len(ids)
        return ids

    def check_ids(self, ids: Sequence[int], param: str) -> None:
        """Raises `ApiError` (400) that names the first id that is no token's."""
        vocabulary = self.description.vocab_size
        for index, token_id in enumerate(ids):
            if not 0 <= token_id < vocabulary:
                message = f"Invalid '{param}[{index}]': token id {token_id} is outside 0..{vocabulary - 1}."
                raise ApiError(message, wire_code="invalid_value", param=param)

    def answer_limit(self, prompt_tokens: int, asked: int | None, default: int) -> int:
        """How many tokens an answer may have: `asked`, or what the context has left of `default`."""
        left = self.description.context_length - prompt_tokens
        limit = asked if asked is not None else max(1, min(default, left))
        if limit > left:
            raise self._context_exceeded(f"{prompt_tokens} in the prompt and {limit} for the answer", "max_tokens")
        return limit

    def sampling(self, request: SamplingRequest, max_tokens: int, top_k: int, *, answer: int = 0) -> SamplingParams:
        """`answer` is the number of the answer among those to one prompt."""
        return SamplingParams(
            max_tokens=max_tokens,
            temperature=1.0 if request.temperature is None else request.temperature,
            top_p=1.0 if request.top_p is None else request.top_p,
            seed=seed_of(self.settings.seed if request.seed is None else request.seed, answer),
            stop=request.stop,
            top_k_logprobs=top_k,
        )

    async def tokens(
        self, ids: Sequence[int], params: SamplingParams, constraint: Constraint | None = None
    ) -> AsyncGenerator[GeneratedToken]:
        """The tokens of one answer, the last with a finish reason. Closing the generator ends the generation."""
        constrained: dict[str, Any] = {} if constraint is None else {"constraint": constraint}
        start = partial(self.engine.generate, ids, params, profile=self.settings.profile, **constrained)
        async with self.turns.place():
            tokens = _closable(await self.turns.take(start))
            try:
                while (token := await self.turns.take(partial(next, tokens, None))) is not None:
                    self.tally.generated_tokens += 1
                    yield self._of_whole_characters(token)
                    if token.finish_reason is not None:
                        return
            finally:
                self.turns.close_later(tokens.close)
        raise EngineError("The engine ended an answer without a finish reason.")

    async def score(
        self, ids: Sequence[int], top_k: int, *, start: int = 0, token_ids: Sequence[int] | None = None
    ) -> Scored:
        asked: dict[str, Any] = {
            "start": start,
            "top_k": top_k,
            "token_ids": token_ids,
            "profile": self.settings.profile,
        }
        async with self.turns.place():
            if isinstance(self.engine, Interruptible):
                scoring = self.engine.scoring(ids, **asked)
                return await self.turns.take(scoring.result, scoring.close)
            return await self.turns.take(partial(self.engine.score, ids, **asked))

    def close(self) -> None:
        self.turns.close()

    def _of_whole_characters(self, token: GeneratedToken) -> GeneratedToken:
        """An answer cut inside a character ends before it: the cut is not the model's, and the bytes are not lost."""
        made_by_the_cut = token.finish_reason == "length" and token.text.endswith(_REPLACEMENT)
        if made_by_the_cut and not self.engine.token_bytes(token.token_id).endswith(_REPLACEMENT.encode()):
            return replace(token, text=token.text[:-1])
        return token

    def _render(self, messages: Sequence[Message], tools: Sequence[Tool] | None) -> Rendered:
        return self.engine.render(messages, tools, chat_template=self.settings.chat_template)

    def _check_length(self, ids: Sequence[int], param: str) -> None:
        if not ids:
            raise ApiError(f"Invalid '{param}': it holds no token.", wire_code="invalid_value", param=param)
        if len(ids) > self.description.context_length:
            raise self._context_exceeded(f"{len(ids)} in the {param}", param)

    def _context_exceeded(self, requested: str, param: str) -> ApiError:
        return ApiError(
            f"This model's maximum context length is {self.description.context_length} tokens. "
            f"The request has {requested}. Make it shorter.",
            wire_code="context_length_exceeded",
            param=param,
        )


def _self_test(engine: ServableBackend, profile: str) -> tuple[Exactness, str | None]:
    """What it says of itself, or what its scores say."""
    if isinstance(engine, Instrumented):
        return engine.exactness(profile)
    return engine.score([0], top_k=0, profile=profile).exactness, None


def _closable(tokens: Iterator[GeneratedToken]) -> TokenStream:
    return tokens if isinstance(tokens, TokenStream) else TokenStream(tokens)
