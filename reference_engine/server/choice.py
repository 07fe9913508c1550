"""One choice of a chat answer: what each token adds to it, and the message it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reference_engine.interface import GeneratedToken
from reference_engine.tool_calls import CallParser, ToolCall


@dataclass(frozen=True, slots=True)
class Piece:
    """What comes with one token; both forms of an answer are made of these."""

    token: GeneratedToken
    content: str
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None


class ChoiceReader:
    """Tells content and calls of tools apart. Without a parser all is content.

    Without `several` the choice ends with its first call, whatever the model would have added.
    """

    def __init__(self, parser: CallParser | None, *, several: bool) -> None:
        self._parser = parser
        self._several = several
        self._called = False

    def take(self, token: GeneratedToken) -> Piece:
        if self._parser is None:
            return Piece(token, token.text, finish_reason=token.finish_reason)
        parsed = self._parser.feed(token.text)
        if token.finish_reason is not None:
            parsed += self._parser.finish()
        self._called = self._called or bool(parsed.calls)
        if parsed.calls and not self._several:
            return Piece(token, parsed.content, parsed.calls[:1], "tool_calls")
        return Piece(token, parsed.content, parsed.calls, self._finish_reason(token))

    def _finish_reason(self, token: GeneratedToken) -> str | None:
        return "tool_calls" if self._called and token.finish_reason == "stop" else token.finish_reason


def message_of(pieces: Sequence[Piece]) -> dict[str, Any]:
    content = "".join(piece.content for piece in pieces)
    calls = [whole_call(call) for piece in pieces for call in piece.calls]
    if not calls:
        return {"role": "assistant", "content": content, "refusal": None}
    return {"role": "assistant", "content": content or None, "refusal": None, "tool_calls": calls}


def whole_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
