"""MiniMax-Provider-Verifier's samples: a chat request a line, and a list `check_type` of what is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.evals.formats.k2vv import with_roles
from probes.evals.item import EvalItem, Grader, GraderKind, split_request

CYRILLIC = "[\u0400-\u04ff]"
_TOOL_CALLS, _CYRILLIC = "tool_calls", "contains_russian_characters_unicode"


def looks_like(line: Mapping[str, Any]) -> bool:
    return isinstance(line.get("messages"), list) and "check_type" in line


def item_of(line: Mapping[str, Any]) -> EvalItem:
    """Checks other than of calls and of Cyrillic letters are kept in `meta`, and leave the item ungraded."""
    request, meta = split_request(line)
    checks = meta.get("check_type")
    if not isinstance(checks, list) or not all(isinstance(check, str) for check in checks):
        raise ValueError("its check_type is not a list of texts")
    if checks:
        meta.setdefault("category", checks[0])
    grader, expected = _grader(checks)
    return EvalItem(with_roles(request), grader, expected, meta)


def _grader(checks: list[str]) -> tuple[Grader, str | None]:
    if _TOOL_CALLS in checks:
        return Grader(GraderKind.TOOL_CALLS), None
    if _CYRILLIC in checks:
        return Grader(GraderKind.REGEX, {"absent": True}), CYRILLIC
    return Grader(GraderKind.UNGRADED), None
