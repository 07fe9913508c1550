"""Tools for a template that knows none: told of in a block of text, their calls and results written as Hermes does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from reference_engine.errors import EngineRequestError
from reference_engine.interface import Tool
from reference_engine.tool_calls.hermes import CLOSING, OPENING
from reference_engine.tool_calls.written_json import JsonExtent, NotACall, after_space, members

_BLOCK = f"""\
You may call functions to answer. Each line between <tools> and </tools> describes one as a JSON object:
<tools>
{{tools}}
</tools>

To call a function, write its name and its arguments as one JSON object between {OPENING} and {CLOSING}. Write one \
such part for each call:
{OPENING}
{{{{"name": "name of the function", "arguments": {{{{"name of a parameter": "its value"}}}}}}}}
{CLOSING}"""


def hermes_block(tools: Sequence[Tool]) -> str:
    """Raises EngineRequestError for a tool that is no JSON."""
    try:
        lines = [json.dumps(tool, ensure_ascii=False, allow_nan=False) for tool in tools]
    except (TypeError, ValueError, RecursionError) as error:
        raise EngineRequestError(f"A tool is not JSON: {error}.", remedy="Correct the tools.") from error
    return _BLOCK.format(tools="\n".join(lines))


def in_hermes_form(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The conversation with calls and results as text. Results that follow each other become one message of the user,
    since templates that know no tools may refuse a further role. Raises EngineRequestError for a broken call."""
    told: list[dict[str, Any]] = []
    for are_results, group in groupby(messages, lambda message: message["role"] == "tool"):
        if are_results:
            results = [f"<tool_response>\n{message.get('content', '')}\n</tool_response>" for message in group]
            told.append({"role": "user", "content": "\n".join(results)})
        else:
            told += [_with_calls_as_text(message) for message in group]
    return told


def _with_calls_as_text(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if not calls:
        return dict(message)
    content = message.get("content")
    parts = [*([str(content)] if content else []), *map(_call_as_text, calls)]
    return {key: value for key, value in message.items() if key != "tool_calls"} | {"content": "\n".join(parts)}


def _call_as_text(call: Any) -> str:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise EngineRequestError("A tool call of a message names no function.", remedy="Correct the messages.")
    name = json.dumps(function["name"], ensure_ascii=False)
    return f'{OPENING}\n{{"name": {name}, "arguments": {_arguments_text(function.get("arguments"))}}}\n{CLOSING}'


def _arguments_text(arguments: Any) -> str:
    """As the model wrote them, where they are a text that is a JSON object."""
    if isinstance(arguments, str) and _is_object(arguments):
        return arguments.strip()
    return json.dumps(arguments or {}, ensure_ascii=False)


def _is_object(text: str) -> bool:
    try:
        end = JsonExtent("{").end(text, ended=True)
        members(text[:end])
    except NotACall:
        return False
    return after_space(text, end or 0) == len(text)
