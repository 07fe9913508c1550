"""What the request asked for, as far as the reading of its answer hangs on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes.wire.json_value import as_integer, as_number, as_object, as_objects, as_text, strings_in

if TYPE_CHECKING:
    from probes.wire.argument_schema import ArgumentSchema


@dataclass(frozen=True, slots=True)
class Tool:
    """A declared tool. `requires` is True where its schema names a required argument."""

    name: str
    schema: ArgumentSchema
    requires: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, looked at once. `top` is the number of alternatives asked for, None where none was; `several` is
    whether more than one choice was, which are counted together."""

    chat: bool
    model: str
    stream: bool
    include_usage: bool
    several: bool
    logprobs: bool
    top: int | None
    echo: bool
    tools: Mapping[str, Tool]
    function_forced: bool
    calls_free: bool
    parallel_refused: bool
    max_tokens: int | None
    stops: bool
    greedy: bool
    nucleus: bool
    texts: tuple[str, ...]

    @classmethod
    def of(cls, request: Mapping[str, Any], *, chat: bool) -> Asked:
        choice = request.get("tool_choice")
        top = as_integer(request.get("top_logprobs" if chat else "logprobs"))
        temperature, top_p = as_number(request.get("temperature")), as_number(request.get("top_p"))
        return cls(
            chat=chat,
            model=as_text(request.get("model")),
            stream=request.get("stream") is True,
            include_usage=as_object(request.get("stream_options")).get("include_usage") is True,
            several=(as_integer(request.get("n")) or 1) > 1,
            logprobs=_asks_logprobs(request) if chat else request.get("logprobs") not in (None, False),
            top=top,
            echo=request.get("echo") is True,
            tools=_declared(request),
            function_forced=isinstance(choice, dict) and choice.get("type", "function") == "function",
            calls_free=choice != "none",
            parallel_refused=request.get("parallel_tool_calls") is False,
            max_tokens=as_integer(request.get("max_completion_tokens") or request.get("max_tokens")),
            stops=bool(request.get("stop")),
            greedy=temperature is not None and temperature == 0,
            nucleus=top_p is not None and top_p < 1,
            texts=tuple(strings_in([request.get(key) for key in ("messages", "prompt", "tools")])),
        )


def _asks_logprobs(request: Mapping[str, Any]) -> bool:
    return bool(request.get("logprobs")) or bool(as_integer(request.get("top_logprobs")))


def _declared(request: Mapping[str, Any]) -> Mapping[str, Tool]:
    functions = [as_object(tool.get("function")) for tool in as_objects(request.get("tools"))]
    functions += as_objects(request.get("functions"))
    tools = [_tool(function) for function in functions]
    return {tool.name: tool for tool in tools if tool.name}


def _tool(function: Mapping[str, Any]) -> Tool:
    # Here: a process that asks no tool calls has no use for what judges them.
    from probes.wire.argument_schema import ArgumentSchema

    parameters = function.get("parameters")
    required = as_object(parameters).get("required")
    return Tool(
        as_text(function.get("name")), ArgumentSchema(parameters), isinstance(required, list) and required != []
    )
