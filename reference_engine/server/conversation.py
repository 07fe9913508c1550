"""The messages and tools of a chat request: checked here, read by the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from reference_engine.interface import Message, Tool


def _checked_content(value: object) -> object:
    """Text or text parts, unchanged: the engine joins parts, so that it reads a request as its other callers' do."""
    if isinstance(value, list):
        for part in value:
            _check_part(part)
        return value
    if value is None or isinstance(value, str):
        return value
    raise PydanticCustomError("content_type", "a message's content is a string or a list of text parts")


def _check_part(part: object) -> None:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise PydanticCustomError("content_type", "a content part is an object with a 'type'")
    if part["type"] != "text":
        raise PydanticCustomError("unsupported_content", "this model reads text parts only")
    if not isinstance(part.get("text"), str):
        raise PydanticCustomError("content_type", "a text part carries its text as a string")


class CalledFunction(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: str
    arguments: str


class AssistantToolCall(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


class ChatMessage(BaseModel):
    """One message. Keys beyond the named ones are handed to the template, which may know them."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Annotated[
        str | list[Any] | None, PlainValidator(_checked_content, json_schema_input_type=str | list[Any] | None)
    ] = None
    tool_calls: list[AssistantToolCall] | None = None
    tool_call_id: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> ChatMessage:
        if self.tool_calls and self.role != "assistant":
            raise PydanticCustomError("message_value", "only an assistant message carries tool_calls")
        if self.content is None and not self.tool_calls:
            raise PydanticCustomError("message_value", "a message without tool_calls needs content")
        return self


class FunctionDefinition(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    name: str = Field(pattern=r"^[a-zA-Z0-9_.-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolDefinition(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    type: Literal["function"]
    function: FunctionDefinition


def conversation(messages: Sequence[ChatMessage], system_prompt: str | None) -> list[Message]:
    """The messages for the engine, after `system_prompt` where they hold no system message."""
    given = [_message(message) for message in messages]
    if system_prompt is not None and all(message["role"] != "system" for message in given):
        return [{"role": "system", "content": system_prompt}, *given]
    return given


def declared(tools: Sequence[ToolDefinition] | None) -> list[Tool] | None:
    return [tool.model_dump(exclude_unset=True) for tool in tools] if tools else None


def _message(message: ChatMessage) -> Message:
    """As templates know messages: no developer role (the API's later name of system), and always some content."""
    role = "system" if message.role == "developer" else message.role
    return {"content": "", **message.model_dump(exclude_none=True), "role": role}
