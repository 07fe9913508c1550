"""Simulated tools: pure steps from a state and a call to the next state and a result. No network, no clock, no chance.

A state is a value that is compared and never changed. Whatever a model calls, a step gives a result: a refusal leaves
the state as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, TypeVar

from probes.wire.argument_schema import ArgumentSchema

S = TypeVar("S")

_SHOWN_NAME = 64


class ErrorCode(StrEnum):
    """Why a tool did not do what it was called for."""

    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_FOUND = "not_found"
    NOT_ALLOWED = "not_allowed"
    CONFLICT = "conflict"
    UNAVAILABLE = "unavailable"


# The call itself is at fault, whatever the state.
INVALID = frozenset({ErrorCode.UNKNOWN_TOOL, ErrorCode.INVALID_ARGUMENTS})


@dataclass(frozen=True, slots=True)
class Call:
    """A call as a tool gets it. `arguments` is None where they could not be decoded to an object."""

    name: str
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Refusal:
    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class Step(Generic[S]):
    """What came of one call. A refusal comes with the state as it was."""

    state: S
    result: Mapping[str, Any] | Refusal


@dataclass(frozen=True)
class Tool(Generic[S]):
    """`act` gets arguments that pass `parameters`, a closed JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    act: Callable[[S, Mapping[str, Any]], Step[S]]

    @property
    def declaration(self) -> dict[str, Any]:
        """The tool as a request declares it."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    def accepts(self, arguments: Mapping[str, Any]) -> bool:
        return self._schema.accepts(arguments)

    @cached_property
    def _schema(self) -> ArgumentSchema:
        return ArgumentSchema(self.parameters)


def step(tools: Sequence[Tool[S]], state: S, call: Call) -> Step[S]:
    """The next state and the result of one call."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        return refused(state, ErrorCode.UNKNOWN_TOOL, f"There is no tool named {call.name[:_SHOWN_NAME]!r}.")
    if call.arguments is None:
        return refused(state, ErrorCode.INVALID_ARGUMENTS, "The arguments are not a JSON object.")
    if not tool.accepts(call.arguments):
        return refused(state, ErrorCode.INVALID_ARGUMENTS, f"The arguments do not fit the parameters of {tool.name}.")
    return tool.act(state, call.arguments)


def refused(state: S, code: ErrorCode, message: str) -> Step[S]:
    return Step(state, Refusal(code, message))


def text_of(result: Mapping[str, Any] | Refusal) -> str:
    """The result as the content of a tool message."""
    if isinstance(result, Refusal):
        result = {"error": {"code": result.code.value, "message": result.message}}
    return json.dumps(result, ensure_ascii=False)


def closed(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that has these properties, all of them and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def text(description: str) -> dict[str, Any]:
    """The schema of a short string."""
    return {"type": "string", "minLength": 1, "maxLength": 64, "description": description}


def count(description: str, most: int) -> dict[str, Any]:
    """The schema of a whole number from 1 to `most`."""
    return {"type": "integer", "minimum": 1, "maximum": most, "description": description}


def one_of(description: str, options: Sequence[str]) -> dict[str, Any]:
    """The schema of one of these words."""
    return {"type": "string", "enum": list(options), "description": description}
