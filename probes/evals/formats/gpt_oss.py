"""gpt-oss's `cases.jsonl`: {"tool_name", "input", "expected_arguments"}; the tools are in a second file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.evals.item import EvalItem, Grader, GraderKind
from probes.evals.messages import messages_of
from probes.wire.json_value import as_object, as_text, parse_strict_json

_KEYS = ("tool_name", "input", "expected_arguments", "instructions")


def looks_like(line: Mapping[str, Any]) -> bool:
    return {"tool_name", "input", "expected_arguments"} <= line.keys()


def item_of(line: Mapping[str, Any], tools: Mapping[str, Any]) -> EvalItem:
    """Right is one call of the tool with the expected arguments."""
    name = line.get("tool_name")
    if not isinstance(name, str) or name not in tools:
        raise ValueError("its tool is not in the second file, which --with names: a JSON list of tools")
    request = {"messages": messages_of(line.get("input"), line.get("instructions")), "tools": [tools[name]]}
    leaf = {"match": "exact", "value": _arguments(line.get("expected_arguments"))}
    meta = {"category": name, **{key: value for key, value in line.items() if key not in _KEYS}}
    expected = {"trigger": "must", "calls": [{"name": name, "args": {"": leaf}}]}
    return EvalItem(request, Grader(GraderKind.TOOL_CALLS), expected, meta)


def _arguments(text: Any) -> Any:
    try:
        arguments = parse_strict_json(as_text(text))
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise ValueError("its expected_arguments are not a JSON object written as text")
    return arguments


def read_tools(content: bytes) -> dict[str, Any]:
    """A JSON list of tools: as in a request, or as {"name", "parameters"} alone."""
    try:
        found = parse_strict_json(content.decode("utf-8"))
    except ValueError:
        raise ValueError("it is not JSON") from None
    if not isinstance(found, list):
        raise ValueError("it is not a list of tools")
    functions = [as_object(as_object(tool).get("function", tool)) for tool in found]
    if not all(as_text(function.get("name")) for function in functions):
        raise ValueError("a tool has no name")
    return {function["name"]: {"type": "function", "function": dict(function)} for function in functions}
