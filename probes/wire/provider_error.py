"""Errors as providers report them: in a body, inside an event stream, with or without the fitting HTTP status."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from probes.quirks import Quirk
from probes.wire.asked import Tool
from probes.wire.call_syntax import TextCall, call_in
from probes.wire.json_value import as_integer, as_object, as_text
from probes.wire.surrogates import paired, paired_json

_LONGEST_MESSAGE = 2_000

# The model's own call, not a call or a schema in the request, was found wanting.
_OWN_CALL_REJECTED = re.compile(
    r"failed[_ ]generation"
    r"|tool call validation failed"
    r"|failed to (?:call a (?:function|tool)|parse (?:the )?(?:generated |model'?s? )?(?:tool|function)[ _-]call)"
    r"|(?:model|assistant)(?:'s)?(?: has)? (?:generated|produced|returned|emitted|attempted|tried|called|call|output)"
    r"[^.]{0,60}(?:tool|function|call)"
    r"|generated[^.]{0,40}(?:tool|function)?[ _-]?call"
    r"|(?:tool|function)[ _-]?calls?[^.]{0,80}(?:generated|produced|returned|emitted) by the (?:model|assistant)"
    r"|attempted to call (?:a )?(?:tool|function)",
    re.IGNORECASE,
)
_REJECTED_CODES = frozenset({"tool_use_failed", "tool_call_failed", "invalid_tool_call", "tool_call_validation_failed"})

_SAYS_UNKNOWN = re.compile(
    r"not in (?:the )?request|(?:unknown|no such|undeclared) (?:tool|function)"
    r"|(?:tool|function)[^.:]{0,60}(?:not (?:declared|defined|found|provided|available)|does not exist)",
    re.IGNORECASE,
)
_SAYS_BROKEN = re.compile(r"(?:not|in)[ -]?valid json|malformed|pars(?:e|ing)|decod", re.IGNORECASE)
_SAYS_SCHEMA = re.compile(r"schema|parameter|argument|propert", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProviderError:
    """`code` is as received, null too. `failed_generation` is the call a provider shows because it refused it."""

    code: Any = None
    message: str | None = None
    failed_generation: str = ""


def error_in(body: Mapping[str, Any]) -> ProviderError | None:
    """The error that `body` reports by a top-level `error`, or by being an error object itself, if it does."""
    error = body.get("error")
    if isinstance(error, dict) and error:
        return _from(error)
    if error:
        return ProviderError(message=_text(error))
    status = as_object(body.get("base_resp"))
    if as_integer(status.get("status_code")):
        return ProviderError(status["status_code"], _text(status.get("status_msg")))
    if body.get("object") == "error":
        return _from(body)
    return None


def error_instead_of_answer(body: Mapping[str, Any]) -> ProviderError | None:
    """As `error_in`, for a body without `choices`, where any message with a code is an error."""
    error = error_in(body)
    if error is not None or "choices" in body:
        return error
    has_message = any(body.get(key) for key in ("message", "msg", "detail", "errors"))
    has_code = any(key in body for key in ("code", "status", "type", "success", "detail", "errors", "error_code"))
    return _from(body) if has_message and has_code else None


def _from(error: Mapping[str, Any]) -> ProviderError:
    message = next((error[key] for key in ("message", "msg", "detail", "errors") if error.get(key)), None)
    return ProviderError(paired_json(error.get("code")), _text(message), as_text(error.get("failed_generation")))


def _text(message: object) -> str | None:
    if message is None:
        return None
    return paired(message if isinstance(message, str) else str(message))[:_LONGEST_MESSAGE]


def quirks_of_rejected_call(error: ProviderError, status: int, tools: Mapping[str, Tool]) -> set[Quirk]:
    """What a 4xx says of the model's own call that the provider's validation refused; nothing for any other error."""
    said = error.message or ""
    if not 400 <= status < 500 or status == 429:
        return set()
    if (
        as_text(error.code) not in _REJECTED_CODES
        and not error.failed_generation
        and not _OWN_CALL_REJECTED.search(said)
    ):
        return set()
    failure = _failure_of(call_in(error.failed_generation), tools) or _failure_said(said)
    return {Quirk.TC_PROVIDER_REJECTED} | ({failure} if failure else set())


def _failure_of(call: TextCall | None, tools: Mapping[str, Tool]) -> Quirk | None:
    if call is None:
        return None
    if call.arguments is None:
        return Quirk.TC_ARGS_INVALID_JSON
    if call.name not in tools:
        return Quirk.TC_UNKNOWN_TOOL
    return None if tools[call.name].schema.accepts(call.arguments) else Quirk.TC_SCHEMA_MISMATCH


def _failure_said(message: str) -> Quirk | None:
    for pattern, quirk in (
        (_SAYS_UNKNOWN, Quirk.TC_UNKNOWN_TOOL),
        (_SAYS_BROKEN, Quirk.TC_ARGS_INVALID_JSON),
        (_SAYS_SCHEMA, Quirk.TC_SCHEMA_MISMATCH),
    ):
        if pattern.search(message):
            return quirk
    return None
