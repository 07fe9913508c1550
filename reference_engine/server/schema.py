"""The request bodies: what is accepted, what is refused, and what has no effect on an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from reference_engine.server.conversation import ChatMessage, ToolDefinition
from reference_engine.server.response_format import ResponseFormat
from reference_engine.server.several import MAX_ANSWERS
from reference_engine.server.tool_choice import AUTO, ToolChoice, read_tool_choice

MAX_TOP_LOGPROBS = 20
MAX_STOPS = 4
MAX_PROMPTS = 128
MAX_SCORED_TOKENS = 256
MAX_TOOLS = 128

Prompt = str | list[int]


def _only(*neutral: object) -> BeforeValidator:
    """Accepts the values under which a parameter changes nothing: what is not implemented is refused, not ignored."""

    def check(value: object) -> object:
        if value is None or value in neutral:
            return None
        allowed = " or ".join(repr(one) for one in neutral) or "null"
        raise PydanticCustomError("unsupported_value", "this server supports {allowed} only", {"allowed": allowed})

    return BeforeValidator(check)


def _stops(value: object) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise PydanticCustomError("stop_type", "stop is a non-empty string or a list of them")
    if len(stops) > MAX_STOPS:
        raise PydanticCustomError("stop_value", "at most {most} stop strings are allowed", {"most": MAX_STOPS})
    return tuple(stops)


def _prompts(value: object) -> list[Prompt]:
    """A string, a list of strings, a list of token ids, or a list of such lists."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise _prompt_type()
    if not value:
        raise PydanticCustomError("prompt_value", "a prompt may not be an empty list")
    if _are_ids(value):
        return [value]
    if len(value) > MAX_PROMPTS:
        raise PydanticCustomError("prompt_value", "at most {most} prompts are allowed", {"most": MAX_PROMPTS})
    if all(isinstance(one, str) for one in value) or all(isinstance(one, list) and _are_ids(one) for one in value):
        return value
    raise _prompt_type()


def _are_ids(value: list[Any]) -> bool:
    return all(type(one) is int for one in value)


def _prompt_type() -> PydanticCustomError:
    return PydanticCustomError("prompt_type", "a prompt is a string, a list of token ids, or a list of either")


def _well_formed(body: object) -> object:
    """JSON may escape half a surrogate pair; no tokenizer reads that, and no answer could repeat it."""
    pending = [body]
    while pending:
        match pending.pop():
            case str(text):
                if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
                    raise PydanticCustomError("text_value", "the body holds half of a surrogate pair")
            case dict(members):
                pending.extend((*members, *members.values()))
            case list(members) if not _are_ids(members):
                pending.extend(members)
    return body


class StreamOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    include_usage: bool = False
    include_obfuscation: Literal[False] | None = None


class SamplingRequest(BaseModel):
    """What both endpoints take. The parameters after `user` change no token and are accepted unread."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    model: str = Field(min_length=1, max_length=512)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=0)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int | None = Field(None, ge=-(2**63), le=2**63 - 1)
    stop: Annotated[tuple[str, ...], PlainValidator(_stops, json_schema_input_type=str | list[str] | None)] = ()
    presence_penalty: Annotated[None, _only(0)] = None
    frequency_penalty: Annotated[None, _only(0)] = None
    logit_bias: Annotated[None, _only({})] = None
    user: Any = None
    metadata: Any = None
    store: Any = None
    service_tier: Any = None
    safety_identifier: Any = None
    prompt_cache_key: Any = None

    @model_validator(mode="before")
    @classmethod
    def _reject_broken_text(cls, body: object) -> object:
        return _well_formed(body)

    @model_validator(mode="after")
    def _options_fit_the_stream(self) -> SamplingRequest:
        if self.stream_options is not None and not self.stream:
            raise _conflict("stream_options", "stream_options is allowed only when stream is true")
        return self

    @property
    def include_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage


class ChatRequest(SamplingRequest):
    messages: list[ChatMessage] = Field(min_length=1)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=MAX_TOP_LOGPROBS)
    n: int | None = Field(None, ge=1, le=MAX_ANSWERS)
    prompt_logprobs: int | None = Field(None, ge=0, le=MAX_TOP_LOGPROBS)
    return_token_ids: bool | None = None
    tools: list[ToolDefinition] | None = Field(None, max_length=MAX_TOOLS)
    tool_choice: Annotated[
        ToolChoice, PlainValidator(read_tool_choice, json_schema_input_type=str | dict[str, Any] | None)
    ] = AUTO
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None

    @model_validator(mode="after")
    def _parameters_agree(self) -> ChatRequest:
        if self.top_logprobs and not self.logprobs:
            raise _conflict("top_logprobs", "top_logprobs is allowed only when logprobs is true")
        if self.max_tokens is not None and self.max_completion_tokens is not None:
            raise _conflict("max_tokens", "give max_completion_tokens or max_tokens, not both")
        if self.prompt_logprobs is not None and self.stream:
            raise _conflict("prompt_logprobs", "prompt_logprobs are not streamed: leave stream out")
        return self

    @model_validator(mode="after")
    def _tools_agree(self) -> ChatRequest:
        named = Counter(tool.function.name for tool in self.tools or ())
        name, count = next(iter(named.most_common(1)), ("", 0))
        if count > 1:
            raise _conflict("tools", f"there are {count} tools named {name!r}: give each a name of its own")
        if self.tool_choice.mode == "required" and not self.tools:
            raise _conflict("tool_choice", "tool_choice asks for a call: give the tools that may be called")
        if self.tool_choice.name is not None and self.tool_choice.name not in named:
            raise _conflict("tool_choice", "tool_choice names a tool that is not among the tools")
        if self.may_call and self.schema_of_answer is not None:
            reason = "an answer that is held to JSON calls no tool: leave response_format out, or give tool_choice none"
            raise _conflict("response_format", reason)
        return self

    @property
    def answers(self) -> int:
        return self.n or 1

    @property
    def may_call(self) -> bool:
        """Whether calls of tools are looked for in the answer."""
        return bool(self.tools) and self.tool_choice.mode != "none"

    @property
    def several_calls(self) -> bool:
        return self.parallel_tool_calls is not False

    @property
    def schema_of_answer(self) -> Mapping[str, Any] | None:
        return None if self.response_format is None else self.response_format.schema_of_answer

    @property
    def answer_limit(self) -> int | None:
        return self.max_completion_tokens if self.max_completion_tokens is not None else self.max_tokens


class CompletionRequest(SamplingRequest):
    prompt: Annotated[
        list[Prompt],
        PlainValidator(_prompts, json_schema_input_type=str | list[str] | list[int] | list[list[int]]),
    ]
    n: int | None = Field(None, ge=1, le=MAX_ANSWERS)
    logprobs: int | None = Field(None, ge=0, le=MAX_TOP_LOGPROBS)
    prompt_logprobs: int | None = Field(None, ge=0, le=MAX_TOP_LOGPROBS)
    return_token_ids: bool | None = None
    echo: bool | None = None
    best_of: Annotated[None, _only(1)] = None
    suffix: Annotated[None, _only()] = None

    @model_validator(mode="after")
    def _parameters_agree(self) -> CompletionRequest:
        if self.max_tokens == 0 and not self.echo and self.prompt_logprobs is None:
            raise _conflict("max_tokens", "max_tokens is at least 1 unless the prompt is echoed or scored")
        if self.prompt_logprobs is not None and self.stream:
            raise _conflict("prompt_logprobs", "prompt_logprobs are not streamed: leave stream out")
        if len(self.prompt) * self.answers > MAX_ANSWERS:
            raise _conflict("n", f"prompts times n is at most {MAX_ANSWERS}")
        return self

    @property
    def answers(self) -> int:
        """To each prompt."""
        return self.n or 1


class ScoreRequest(BaseModel):
    """`start` and `token_ids` are those of every prompt."""

    model_config = ConfigDict(strict=True, extra="forbid")

    model: str | None = Field(None, min_length=1, max_length=512)
    prompt: str | list[int] | None = None
    prompts: list[str | list[int]] | None = Field(None, min_length=1, max_length=MAX_PROMPTS)
    start: int = Field(0, ge=0)
    top_k: int = Field(MAX_TOP_LOGPROBS, ge=0, le=MAX_SCORED_TOKENS)
    token_ids: list[int] = Field(default_factory=list, max_length=MAX_SCORED_TOKENS)

    @model_validator(mode="before")
    @classmethod
    def _reject_broken_text(cls, body: object) -> object:
        return _well_formed(body)

    @model_validator(mode="after")
    def _one_of_both(self) -> ScoreRequest:
        if (self.prompt is None) == (self.prompts is None):
            raise _conflict("prompts", "give prompts, or one prompt")
        return self

    def named(self) -> list[tuple[str, Prompt]]:
        """Each prompt with its name in the body."""
        if self.prompt is not None:
            return [("prompt", self.prompt)]
        return [(f"prompts[{index}]", prompt) for index, prompt in enumerate(self.prompts or ())]


def _conflict(param: str, message: str) -> PydanticCustomError:
    return PydanticCustomError("conflict_value", message, {"param": param})
