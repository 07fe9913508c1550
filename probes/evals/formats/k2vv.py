"""K2-Vendor-Verifier's `samples.jsonl`: one chat request a line. Right are calls that pass their schemas, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.evals.item import EvalItem, Grader, GraderKind, split_request


def looks_like(line: Mapping[str, Any]) -> bool:
    return isinstance(line.get("messages"), list)


def item_of(line: Mapping[str, Any]) -> EvalItem:
    request, meta = split_request(line)
    return EvalItem(with_roles(request), Grader(GraderKind.TOOL_CALLS), None, meta)


def with_roles(request: Mapping[str, Any]) -> dict[str, Any]:
    """The verifier's own role `_input` is the system's."""
    messages = request.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ValueError("it has no messages that are objects")
    return {**request, "messages": [_with_role(message) for message in messages]}


def _with_role(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**message, "role": "system"} if message.get("role") == "_input" else message
