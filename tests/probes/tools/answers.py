"""Cases and answers to them, as a client would bring them: what the tests of the scoring share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from probes.completion import Completion
from probes.errors import ProbeError
from probes.plan import Attempt, Item, Outcome, Sample
from probes.quirks import Disposition
from probes.reader import read
from probes.tools.case import Case, Category, ExpectedCall, Leaf, Oracle, Trigger

BERTH = {
    "type": "object",
    "properties": {
        "berth": {"type": "integer"},
        "vessel": {"type": "string"},
        "tide": {"enum": ["spring", "neap"]},
    },
    "required": ["berth", "vessel"],
    "additionalProperties": False,
}
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
AT = datetime(2026, 5, 1, tzinfo=UTC)


def tool(name: str, parameters: Any = BERTH) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


def request(tools: Sequence[Mapping[str, Any]] = (), **settings: Any) -> dict[str, Any]:
    asked = {"messages": [{"role": "user", "content": "Book berth 7 for the Petrel."}], "max_tokens": 100, **settings}
    return {**asked, "tools": list(tools)} if tools else asked


def exactly(name: str, /, **arguments: Any) -> ExpectedCall:
    return ExpectedCall(name, {f"/{key}": Leaf("exact", value) for key, value in arguments.items()})


def case(
    *calls: ExpectedCall,
    trigger: Trigger = Trigger.MUST,
    category: Category = Category.T1,
    tools: Sequence[Mapping[str, Any]] | None = None,
    settings: Mapping[str, Any] | None = None,
    formats: bool = False,
    **oracle: Any,
) -> Case:
    declared = [tool("book"), tool("cancel"), tool("list", NOTHING)] if tools is None else tools
    asked = request(declared, **(settings or {}))
    return Case(category, "berths", asked, Oracle(trigger, calls, **oracle), formats=formats)


def call(name: str, arguments: Any = "{}", call_id: str = "call_1") -> dict[str, Any]:
    """`arguments` as they stand in the body: text, or any other JSON value where a server sends no text."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def body(
    *calls: Mapping[str, Any], content: str | None = None, finish: str | None = None, **more: Any
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content, **more.pop("message", {})}
    if calls:
        message["tool_calls"] = list(calls)
    reason = finish or ("tool_calls" if calls else "stop")
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return {
        "id": "c",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage,
        **more,
    }


def answer(
    case: Case, *calls: Mapping[str, Any], content: str | None = None, finish: str | None = None, **more: Any
) -> Sample:
    """A whole answer, read from its bytes."""
    return received(case, body(*calls, content=content, finish=finish, **more))


def received(case: Case, content: Any, status: int = 200, *, rep: int = 0, stream: bool = False) -> Sample:
    """Whatever came: JSON, or bytes."""
    asked = {"model": "m", **case.request, "stream": stream}
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    completion = read(
        asked,
        endpoint="/v1/chat/completions",
        http_status=status,
        headers={"content-type": "text/event-stream" if stream else "application/json"},
        body=raw,
    )
    outcome = _outcome(completion)
    error = None if outcome is Outcome.OK else ProbeError.code
    attempt = Attempt(status, {}, raw, AT, 0.1, error)
    return Sample(Item(f"{case.key}-plain", rep, dict(case.request)), outcome, completion, (attempt,), asked)


def lost(case: Case, outcome: Outcome = Outcome.TIMEOUT) -> Sample:
    """No answer came."""
    attempt = Attempt(None, {}, b"", AT, 0.1, ProbeError.code)
    return Sample(Item(f"{case.key}-plain", 0, dict(case.request)), outcome, None, (attempt,))


def _outcome(completion: Completion) -> Outcome:
    if completion.disposition is not Disposition.ERROR:
        return Outcome.OK
    return Outcome.RATE_LIMITED if completion.http_status == 429 else Outcome.HTTP_ERROR
