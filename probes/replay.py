"""Reads recorded answers, one JSON object a line, and says how each is understood."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from probes.completion import Completion, Endpoint, ToolCall
from probes.errors import ReplayFileError
from probes.reader import AnswerReader
from probes.wire.json_value import parse_json
from probes.wire.surrogates import paired
from probes.wire.token_logprobs import as_lists

MAX_LINE_BYTES = 32 * 1024 * 1024

_KEYS: Mapping[str, type] = {
    "id": str,
    "endpoint": str,
    "request": dict,
    "http_status": int,
    "response_headers": dict,
    "response_raw": str,
}
_KINDS = {str: "a string", dict: "an object", int: "a whole number"}
_ENDPOINTS = get_args(Endpoint)
_REMEDY = f"A line is one JSON object with the keys {', '.join(_KEYS)}."


def replay(path: Path) -> Iterator[dict[str, Any]]:
    """Each recorded answer of a file as `{id, disposition, defects, parsed}`; one line is held at a time.

    Raises ReplayFileError: the file cannot be read, or a line holds no recorded answer.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(_lines(file.readline), start=1):
                if line.strip():
                    yield replay_case(_case(line, f"{path}, line {number}"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ReplayFileError(f"{path} cannot be read: {reason}.", remedy="Name a file of recorded answers.") from error


def replay_case(case: Mapping[str, Any]) -> dict[str, Any]:
    """One recorded answer as it is understood, in JSON types only.

    `expected_arguments`, where the case has it, is what the probe wanted every call to say.
    """
    expected = case.get("expected_arguments")
    reader = AnswerReader(
        case["request"],
        endpoint=case["endpoint"],
        http_status=case["http_status"],
        headers={name: str(value) for name, value in case["response_headers"].items()},
        expected_arguments=expected if isinstance(expected, dict) else None,
    )
    reader.feed(case["response_raw"].encode("utf-8", "surrogatepass"))
    completion = reader.finish()
    return {
        "id": paired(case["id"]),
        "disposition": completion.disposition.value,
        "defects": [quirk.value for quirk in completion.quirks],
        "parsed": parsed(completion, case["endpoint"]),
    }


def parsed(completion: Completion, endpoint: Endpoint) -> dict[str, Any] | None:
    """What was read of an answer; None where its body is none and no header says when to come again."""
    if completion.unreadable and completion.retry_after is None:
        return None
    said: dict[str, Any] = {"text": completion.text}
    if endpoint == "/v1/chat/completions":
        said = {"content": completion.content, "tool_calls": [_call(call) for call in completion.tool_calls]}
    found = {
        **said,
        "reasoning": completion.reasoning,
        "finish_reason": completion.finish_reason,
        "usage": _usage(completion),
        "schema_valid": completion.schema_valid,
        "content_chunks": completion.content_chunks,
        "model": completion.model,
        "system_fingerprint": completion.system_fingerprint,
        "logprobs": None if completion.logprobs is None else as_lists(completion.logprobs),
        "error_code": completion.error_code,
        "retry_after": _retry_after(completion),
    }
    return {name: _finite(value) for name, value in found.items()}


def _call(call: ToolCall) -> dict[str, Any]:
    if call.arguments is not None:
        return {"name": call.name, "arguments": call.arguments}
    shown = {"name": call.name, "arguments_raw": call.arguments_raw}
    return shown if call.arguments_recovered is None else {**shown, "arguments_recovered": call.arguments_recovered}


def _usage(completion: Completion) -> dict[str, int | None] | None:
    usage = completion.usage
    if usage is None:
        return None
    return {name: getattr(usage, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}


def _retry_after(completion: Completion) -> dict[str, Any] | None:
    asked = completion.retry_after
    return None if asked is None else {name: value for name, value in asdict(asked).items() if value is not None}


def _finite(value: Any) -> Any:
    """JSON has no word for NaN and the infinities: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def _lines(readline: Callable[[int], bytes]) -> Iterator[bytes]:
    """The lines of a file; of one that is too long only so much as shows that it is."""
    while line := readline(MAX_LINE_BYTES + 1):
        yield line


def _case(line: bytes, place: str) -> Mapping[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise ReplayFileError(f"{place} is longer than {MAX_LINE_BYTES // 2**20} MiB.", remedy=_REMEDY)
    try:
        case = parse_json(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ReplayFileError(f"{place} is not UTF-8: {error.reason} at byte {error.start}.", remedy=_REMEDY) from error
    except ValueError as error:
        raise ReplayFileError(f"{place} is not JSON: {error}.", remedy=_REMEDY) from error
    if not isinstance(case, dict):
        raise ReplayFileError(f"{place} is JSON but not an object.", remedy=_REMEDY)
    for key, kind in _KEYS.items():
        if key not in case:
            raise ReplayFileError(f"{place} has no key {key!r}.", remedy=_REMEDY)
        if not isinstance(case[key], kind) or isinstance(case[key], bool):
            raise ReplayFileError(f"{place}: {key!r} is not {_KINDS[kind]}.", remedy=_REMEDY)
    if case["endpoint"] not in _ENDPOINTS:
        raise ReplayFileError(f"{place}: 'endpoint' is not {' or '.join(_ENDPOINTS)}.", remedy=_REMEDY)
    return case
