"""A rejected request in one sentence that names the parameter, what was wrong with it and what would be right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Finding:
    message: str
    param: str | None
    code: str


def first_error(errors: Sequence[Mapping[str, Any]]) -> Finding:
    """The finding a client should mend first, out of pydantic's list."""
    error = errors[0]
    kind, path = error["type"], tuple(error["loc"])[1:]
    if kind == "json_invalid":
        return Finding(f"The body is not JSON: {error['ctx']['error']}.", None, "invalid_json")
    if not path:
        return _body_finding(error)
    param = _dotted(path)
    if kind == "missing":
        return Finding(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")
    if kind == "extra_forbidden":
        return Finding(f"Unknown parameter: '{param}'.", param, "unknown_parameter")
    code = "invalid_type" if kind.endswith("_type") else kind if kind.startswith("unsupported") else "invalid_value"
    return Finding(f"Invalid '{param}': {_sentence(error['msg'])}{_got(error.get('input'))}", param, code)


def _body_finding(error: Mapping[str, Any]) -> Finding:
    if isinstance(error.get("input"), bytes):
        message = "The body was not read: send it with the header Content-Type: application/json."
        return Finding(message, None, "invalid_content_type")
    if error["type"] == "missing":
        return Finding("The request has no body; send a JSON object.", None, "missing_body")
    if error["type"].endswith("_type"):
        return Finding("The body must be a JSON object.", None, "invalid_type")
    param = error.get("ctx", {}).get("param")
    return Finding(_sentence(error["msg"]), param, "invalid_value")


def _dotted(path: Sequence[str | int]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


def _sentence(message: str) -> str:
    text = message.removeprefix("Value error, ")
    return f"{text[:1].lower()}{text[1:]}".rstrip(".") + "."


def _got(value: object) -> str:
    """Numbers and short strings are repeated; longer ones may be prompts."""
    if isinstance(value, bool | int | float):
        return f" Got {value!r}."
    if isinstance(value, str) and len(value) <= _SHOWN_CHARACTERS:
        return f" Got {value!r}."
    return ""
