"""A line that makes a request unlike every other and asks nothing: what is cached answers none of our requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from probes.grammar import Draw

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_INSTRUCTING = ("system", "developer")


def session_line(draw: Draw) -> str:
    return f"Session {''.join(draw.choice(_LETTERS) for _ in range(4))}-{draw.digits(6)}."


def marked(request: Mapping[str, Any], line: str) -> dict[str, Any]:
    """The request with `line` at the end of its first instructions or, where it has none, before its first user's
    words. A request without either is left as it is."""
    messages = list(request["messages"])
    place = _first(messages, _INSTRUCTING)
    if place is not None:
        messages[place] = _with_text(messages[place], [messages[place]["content"], line])
    elif (place := _first(messages, ("user",))) is not None:
        messages[place] = _with_text(messages[place], [line, messages[place]["content"]])
    return {**request, "messages": messages}


def _first(messages: Sequence[Mapping[str, Any]], roles: tuple[str, ...]) -> int | None:
    spoken = (place for place, one in enumerate(messages) if one["role"] in roles and one.get("content"))
    return next(spoken, None)


def _with_text(message: Mapping[str, Any], said: Sequence[Any]) -> dict[str, Any]:
    """The message with all that is `said`, texts and lists of parts, as its content."""
    if all(isinstance(one, str) for one in said):
        return {**message, "content": "\n\n".join(said)}
    parts: list[Any] = []
    for one in said:
        parts += [{"type": "text", "text": one}] if isinstance(one, str) else one
    return {**message, "content": parts}
