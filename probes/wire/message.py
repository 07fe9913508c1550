"""What a message or a delta says: its text and its reasoning, wherever a server puts them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from probes.quirks import Quirk
from probes.wire.json_value import as_object, as_text

_USUAL_REASONING = "reasoning_content"
_OTHER_REASONING = (
    "reasoning",
    "reasoning_details",
    "thinking",
    "thinking_content",
    "reasoning_text",
    "thinking_blocks",
)
REASONING_FIELDS = (_USUAL_REASONING, *_OTHER_REASONING)
_THINKING_KINDS = ("thinking", "reasoning", "redacted_thinking")
_PART_TEXTS = ("text", "content", "thinking", "reasoning", "summary")

_THINK_TAGS = re.compile(r"\s*<think>(.*?)</think>", re.DOTALL)
_OPEN_THINK_TAG = re.compile(r"\s*<think>")


@dataclass(frozen=True, slots=True)
class Said:
    """`content` is None where the field is null or absent; `refusal` is what stands in its place where a model that is
    held to a form declines."""

    content: str | None
    reasoning: str
    quirks: frozenset[Quirk]
    refusal: str = ""


def said(message: Mapping[str, Any]) -> Said:
    """The text and the reasoning of one message or delta."""
    quirks: set[Quirk] = set()
    reasoning = _text_of(message.get(_USUAL_REASONING))
    for name in _OTHER_REASONING:
        if text := _text_of(message.get(name)):
            quirks.add(Quirk.REASONING_FIELD_VARIANT)
            reasoning = reasoning or text
    content, refusal = message.get("content"), as_text(message.get("refusal"))
    if not isinstance(content, list | dict):
        return Said(content if isinstance(content, str) else None, reasoning, frozenset(quirks), refusal)
    quirks.add(Quirk.CONTENT_LIST_PARTS)
    parts = content if isinstance(content, list) else [content]
    text = "".join(_text_of(part) for part in parts if not _is_thinking(part))
    thought = "".join(_text_of(part) for part in parts if _is_thinking(part))
    return Said(text, reasoning + thought, frozenset(quirks), refusal)


def thought_in_tags(content: str) -> str | None:
    """The reasoning that a server left in tags at the head of the content; None where there is none."""
    found = _THINK_TAGS.match(content)
    return found.group(1).strip() if found else None


def unended_thought(content: str) -> str | None:
    """The reasoning in tags at the head of content that ends before they are closed; None where there is none."""
    found = _OPEN_THINK_TAG.match(content)
    return content[found.end() :].strip() if found and not _THINK_TAGS.match(content) else None


def without_tags(content: str) -> str:
    """The content after the reasoning in tags at its head."""
    return _THINK_TAGS.sub("", content, count=1) if _THINK_TAGS.match(content) else content


def _is_thinking(part: object) -> bool:
    kind = as_text(as_object(part).get("type"))
    return kind.startswith(_THINKING_KINDS)


def _text_of(value: object) -> str:
    return "".join(_texts(value))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from next((texts for key in _PART_TEXTS if (texts := list(_texts(value.get(key))))), ())
