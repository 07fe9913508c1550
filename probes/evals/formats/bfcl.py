"""BFCL's single-turn questions and possible answers: {"id", "question", "function"}, the answers in a second file or as
`ground_truth` on the line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from probes.evals.item import EvalItem, Grader, GraderKind
from probes.tools.pointers import below
from probes.wire.json_value import as_object, as_text, parse_strict_json

_KEYS = ("question", "function", "ground_truth")
# BFCL's names of types that JSON Schema calls otherwise.
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}


def looks_like(line: Mapping[str, Any]) -> bool:
    return isinstance(line.get("question"), list) and "function" in line


def item_of(line: Mapping[str, Any], answers: Mapping[str, Any]) -> EvalItem:
    """Right are the calls of the answer in any order. Questions of irrelevance, which have no answer, want no call, and
    those of relevance any. Values are compared as they stand, where BFCL drops letter case and punctuation."""
    category = as_text(line.get("id")).rpartition("_")[0]
    truth = line.get("ground_truth", answers.get(as_text(line.get("id"))))
    functions = line.get("function")
    tools = [_tool(function) for function in (functions if isinstance(functions, list) else [functions])]
    request = {"messages": _messages(line.get("question")), "tools": tools}
    meta = {key: value for key, value in line.items() if key not in _KEYS}
    meta.setdefault("category", category)
    expected = _unanswered(category) if truth is None else _expected(truth)
    return EvalItem(request, Grader(GraderKind.TOOL_CALLS), expected, meta)


def read_answers(content: bytes) -> dict[str, Any]:
    """BFCL's file of possible answers, by id."""
    answers = {}
    for number, text in enumerate(content.splitlines(), start=1):
        try:
            answer = parse_strict_json(text.decode("utf-8")) if text.strip() else None
        except ValueError:
            raise ValueError(f"its line {number} is not JSON") from None
        if answer is not None:
            answers[as_text(as_object(answer).get("id"))] = as_object(answer).get("ground_truth")
    return answers


def _messages(question: Any) -> list[Any]:
    if not isinstance(question, list) or len(question) != 1 or not isinstance(question[0], list):
        raise ValueError("its question is not a list of one turn")
    return question[0]


def _tool(function: Any) -> dict[str, Any]:
    if not isinstance(function, Mapping) or not as_text(function.get("name")):
        raise ValueError("its function is not an object with a name, or a list of these")
    told = {**function, "name": _name(function["name"]), "parameters": _schema(function.get("parameters", {}))}
    return {"type": "function", "function": {key: told[key] for key in told if key != "response"}}


def _name(name: str) -> str:
    # Chat requests allow no dots in names; BFCL's own runner writes them so.
    return name.replace(".", "_")


def _schema(part: Any) -> Any:
    if isinstance(part, list):
        return [_schema(inner) for inner in part]
    if not isinstance(part, Mapping):
        return part
    schema = {key: value if key == "default" else _schema(value) for key, value in part.items()}
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        schema["type"] = _TYPES[kind]
        if schema["type"] is None:
            del schema["type"]
    return schema


def _unanswered(category: str) -> dict[str, Any]:
    if "relevance" not in category:
        raise ValueError("its answer is neither on the line nor in a second file, which --with names")
    return {"trigger": "must_not" if "irrelevance" in category else "must", "calls": []}


def _expected(truth: Any) -> dict[str, Any]:
    if truth == []:
        return {"trigger": "must_not", "calls": []}
    if not isinstance(truth, list) or not all(isinstance(call, Mapping) and len(call) == 1 for call in truth):
        raise ValueError("its ground_truth is not a list of {name: arguments}")
    return {"trigger": "must", "calls": [_call(*next(iter(call.items()))) for call in truth]}


def _call(name: str, arguments: Any) -> dict[str, Any]:
    leaves, loose = {}, False
    for pointer, allowed in _leaves("", as_object(arguments)):
        values = [value for value in allowed if value != ""]
        if any(map(_holds_object, values)):
            # Its own values are lists of what may stand there, which no matcher takes.
            loose = True
        elif len(values) == len(allowed):
            leaves[pointer] = {"match": "any_of", "value": values}
        elif len(values) == 1:
            leaves[pointer] = {"match": "absent_ok", "value": values[0]}
        else:
            # No matcher says "absent or one of several": what is not told cannot be held against an answer.
            loose = True
    return {"name": _name(name), "args": leaves, "open": loose}


def _leaves(place: str, arguments: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Each pointer with the values that may stand there. Objects have lists of values themselves: a single one, and
    those of a single list, are gone into."""
    for name, allowed in arguments.items():
        pointer = below(place, name)
        values = allowed if isinstance(allowed, list) else [allowed]
        only = values[0] if len(values) == 1 else None
        if isinstance(only, dict):
            yield from _leaves(pointer, only)
        elif isinstance(only, list) and only and all(isinstance(one, dict) for one in only):
            for position, one in enumerate(only):
                yield from _leaves(below(pointer, position), one)
        else:
            yield pointer, values


def _holds_object(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_object, value)))
