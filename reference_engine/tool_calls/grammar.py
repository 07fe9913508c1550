"""Calls of given tools as a grammar, in the form that a family writes and its parser reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reference_engine.errors import EngineRequestError
from reference_engine.interface import Tool
from reference_engine.tool_calls import hermes, mistral
from reference_engine.tool_calls.family import Family


@dataclass(frozen=True, slots=True)
class _Wrapping:
    """Grammar around all calls of an answer, between two, and around the arguments of one by its tool's name."""

    before: Callable[[str], str]
    after: str = ""
    between: str = ""
    first: str = ""
    last: str = ""


def parameters_of(tool: Tool) -> Mapping[str, Any]:
    """The schema of a tool's arguments, which are an object. Raises EngineRequestError for another form of tool."""
    function = tool.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str) or not function["name"].strip():
        raise EngineRequestError("A tool has no function with a name.", remedy="Correct the tools.")
    schema = function.get("parameters")
    if schema is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise EngineRequestError(
            f"The parameters of the tool {function['name']!r} are no schema of an object.",
            remedy='Give them "type": "object".',
        )
    return {"type": "object", **schema}


def calls_grammar(
    family: Family, tools: Sequence[Tool], schemas: Sequence[str], control: Mapping[str, int], *, several: bool
) -> str:
    """Lark rules with `start`: one call, or one and more where `several`, of tools whose arguments fit their schemas.

    `control` maps control tokens to their ids: markers among them are those tokens, others are text.
    """
    wrapping = _wrapping(family, control)
    rules = [
        f"call_{index}: {wrapping.before(tool['function']['name'])} args_{index} {wrapping.after}"
        for index, tool in enumerate(tools)
    ]
    rules += [f"args_{index}: %json {schema}" for index, schema in enumerate(schemas)]
    more = f"({wrapping.between} call)*" if several else ""
    alternatives = " | ".join(f"call_{index}" for index in range(len(tools)))
    return "\n".join((f"start: {wrapping.first} call {more} {wrapping.last}", f"call: {alternatives}", *rules))


def _wrapping(family: Family, control: Mapping[str, int]) -> _Wrapping:
    def marker(text: str) -> str:
        return f"<[{control[text]}]>" if text in control else _literal(text)

    match family:
        case "hermes":
            opening, closing = marker(hermes.OPENING), marker(hermes.CLOSING)
            return _Wrapping(
                before=lambda name: f"{opening} {_literal(chr(10) + _head(name, 'arguments'))}",
                after=f"{_literal('}' + chr(10))} {closing}",
                between=_literal("\n"),
            )
        case "llama3":
            return _Wrapping(lambda name: _literal(_head(name, "parameters")), _literal("}"), _literal("; "))
        case "mistral" if mistral.ARGUMENTS in control:
            opening, arguments = marker(mistral.OPENING), marker(mistral.ARGUMENTS)
            return _Wrapping(lambda name: f"{opening} {_literal(name)} {arguments}")
        case "mistral":
            return _Wrapping(
                before=lambda name: _literal(_head(name, "arguments")),
                after=_literal("}"),
                between=_literal(", "),
                first=f"{marker(mistral.OPENING)} {_literal('[')}",
                last=_literal("]"),
            )


def _head(name: str, arguments: str) -> str:
    return f'{{"name": {json.dumps(name, ensure_ascii=False)}, "{arguments}": '


def _literal(text: str) -> str:
    return json.dumps(text)
