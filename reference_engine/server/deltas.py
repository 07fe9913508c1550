"""One choice of a chat answer as the deltas of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reference_engine.server.choice import Piece, whole_call
from reference_engine.tool_calls import ToolCall

Delta = dict[str, Any]


class Deltas:
    """`may_call`: whether the answer may turn out to have calls and no content, so that its content begins as null."""

    def __init__(self, *, may_call: bool, every_token: bool) -> None:
        self._may_call = may_call
        self._every_token = every_token
        self._begun = False
        self._spoke = not may_call
        self._calls = 0

    def of(self, piece: Piece) -> Iterator[Delta]:
        """The role, once; then what the piece adds: one delta at least where `every_token` has one to itself."""
        if not self._begun:
            self._begun = True
            yield {"role": "assistant", "content": None if self._may_call else "", "refusal": None}
        self._spoke = self._spoke or bool(piece.content or piece.calls)
        if piece.content or (piece.finish_reason and not self._spoke):
            yield {"content": piece.content}
        elif self._every_token and not piece.calls:
            yield {} if self._may_call else {"content": ""}
        for call in piece.calls:
            yield from self._of_call(call)

    def _of_call(self, call: ToolCall) -> Iterator[Delta]:
        """Its name, and then its arguments."""
        index, whole = self._calls, whole_call(call)
        self._calls += 1
        yield {"tool_calls": [{"index": index, **whole, "function": {"name": call.name, "arguments": ""}}]}
        yield {"tool_calls": [{"index": index, "function": {"arguments": call.arguments}}]}
