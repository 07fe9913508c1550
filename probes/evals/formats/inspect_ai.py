"""inspect_ai's samples: {"input", "target"}, and perhaps choices, id and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.evals.formats.lm_eval import choice_item, open_item, texts_of_choices
from probes.evals.item import EvalItem, GraderKind
from probes.evals.messages import messages_of, text_of

_KEYS = ("input", "target", "choices")


def looks_like(line: Mapping[str, Any]) -> bool:
    return isinstance(line.get("input"), str | list) and ("target" in line or "metadata" in line)


def item_of(line: Mapping[str, Any], chosen: GraderKind | None = None) -> EvalItem:
    """A choice's target is its letter; any text of a list of targets is right."""
    meta = {key: value for key, value in line.items() if key not in _KEYS}
    metadata = meta.get("metadata")
    if "category" not in meta and isinstance(metadata, Mapping) and isinstance(metadata.get("category"), str):
        meta["category"] = metadata["category"]
    given, target = line.get("input"), line.get("target")
    if line.get("choices") is not None:
        asked = given if isinstance(given, str) else _last_text(given)
        return choice_item(asked, texts_of_choices(line["choices"]), target, meta)
    return open_item({"messages": _messages(given)}, target, meta, chosen)


def _messages(given: Any) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return messages_of(given)
    if not isinstance(given, list) or not given or not all(isinstance(message, dict) for message in given):
        raise ValueError("its input is neither a text nor a list of messages")
    return [_message(message) for message in given]


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """What of a ChatMessage an endpoint is sent; content of several texts is one text."""
    content = message.get("content")
    if isinstance(content, list):
        if not all(isinstance(part, dict) and part.get("type") == "text" for part in content):
            raise ValueError("its input has content that is not text")
        content = text_of(content)
    kept = {key: message[key] for key in ("role", "tool_calls", "tool_call_id", "name") if message.get(key) is not None}
    return {**kept, "content": content}


def _last_text(given: Any) -> str:
    messages = _messages(given)
    if len(messages) != 1:
        raise ValueError("its choices follow several messages")
    return text_of(messages[0]["content"])
