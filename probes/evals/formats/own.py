"""Our own format: {"request" or "prompt", "grader", "expected", "meta"}."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.evals.item import EvalItem, Grader, GraderKind
from probes.evals.messages import messages_of

_KEYS = ("request", "prompt", "system", "grader", "expected", "meta", "canary")


def looks_like(line: Mapping[str, Any]) -> bool:
    return "grader" in line and ("request" in line or "prompt" in line)


def item_of(line: Mapping[str, Any]) -> EvalItem:
    """`prompt` and `system` are short for a request of two messages. `grader` is an object with its kind and options,
    or the kind alone. Other keys join `meta`; the canary of the suite that a line was exported from is no part of it.
    """
    meta = line.get("meta", {})
    if not isinstance(meta, Mapping):
        raise ValueError("its meta is not an object")
    others = {key: value for key, value in line.items() if key not in _KEYS}
    return EvalItem(_request(line), grader_of(line.get("grader")), line.get("expected"), {**meta, **others})


def _request(line: Mapping[str, Any]) -> Mapping[str, Any]:
    if "request" in line:
        request = line["request"]
        if not isinstance(request, Mapping) or "prompt" in line or "system" in line:
            raise ValueError("it has no request that is an object, or a prompt or system beside it")
        return request
    return {"messages": messages_of(line.get("prompt"), line.get("system"))}


def grader_of(found: Any) -> Grader:
    told = {"kind": found} if isinstance(found, str) else found
    if not isinstance(told, Mapping) or told.get("kind") not in list(GraderKind):
        raise ValueError(f"its grader is none of {', '.join(GraderKind)}")
    return Grader(GraderKind(told["kind"]), {name: value for name, value in told.items() if name != "kind"})
