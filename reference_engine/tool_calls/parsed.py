"""What an answer's text holds: content, calls of tools, and what only looks like a call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`arguments` is the JSON text of an object, as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """What begins as a call and is none; it is content too. `text` ends where it can no longer be a call."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Parsed:
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    malformed: tuple[Malformed, ...] = ()

    def __add__(self, later: Parsed) -> Parsed:
        return Parsed(self.content + later.content, self.calls + later.calls, self.malformed + later.malformed)
