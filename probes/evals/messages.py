"""Texts as messages of a chat request, and messages as texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def messages_of(prompt: Any, system: Any = None) -> list[dict[str, Any]]:
    """Raises ValueError where either is no text."""
    if not isinstance(prompt, str) or not isinstance(system, str | None):
        raise ValueError("its prompt or system is not a text")
    user = {"role": "user", "content": prompt}
    return [user] if system is None else [{"role": "system", "content": system}, user]


def text_of(content: Any) -> str:
    """A message's content, or the texts among its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def question_in(request: Mapping[str, Any]) -> str:
    """What the user says last."""
    asked = [message for message in request["messages"] if message["role"] == "user"]
    return text_of(asked[-1].get("content")) if asked else ""
