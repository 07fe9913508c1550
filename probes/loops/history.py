"""The messages of a loop: what the endpoint said, sent back as it came, and what its calls brought."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from probes.completion import Completion
from probes.loops.exercise import Turn
from probes.wire.message import thought_in_tags

Message = dict[str, Any]

# Nine letters and digits: what the strictest of the known checks of ids lets through.
_CANONICAL_ID = "call{:05d}"


class Reasoning(StrEnum):
    """How an endpoint wants its reasoning back. What stands in tags within the content stays there in any case."""

    DROPPED = "dropped"
    REASONING_CONTENT = "reasoning_content"
    REASONING = "reasoning"


def canonical_ids(first: int, count: int) -> list[str]:
    """The ids of `count` calls of a history in which `first` calls came before."""
    return [_CANONICAL_ID.format(number) for number in range(first, first + count)]


def said_back(completion: Completion, ids: Sequence[str], reasoning: Reasoning) -> Message:
    """The endpoint's own message: its calls with their argument text to the byte, under these ids."""
    calls = [
        {**call.extra, "id": own, "type": "function", "function": {"name": call.name, "arguments": call.arguments_text}}
        for call, own in zip(completion.tool_calls, ids, strict=True)
    ]
    message: Message = {"role": "assistant", "content": completion.content or None, "tool_calls": calls}
    thought = completion.reasoning
    if reasoning is not Reasoning.DROPPED and thought and thought_in_tags(completion.content or "") is None:
        message[reasoning.value] = thought
    return message


def scripted(turn: Turn, ids: Sequence[str]) -> Message:
    """The message that makes the calls of a turn, as a model would have written it."""
    calls = [_scripted_call(call.name, call.arguments or {}, own) for call, own in zip(turn.calls, ids, strict=True)]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def results(turn: Turn, ids: Sequence[str]) -> list[Message]:
    """A tool message for each call of a turn."""
    told = [
        {"role": "tool", "tool_call_id": own, "content": reply.text}
        for own, reply in zip(ids, turn.replies, strict=True)
    ]
    return told[::-1] if turn.swapped else told


def _scripted_call(name: str, arguments: Mapping[str, Any], own: str) -> dict[str, Any]:
    text = json.dumps(arguments, ensure_ascii=False)
    return {"id": own, "type": "function", "function": {"name": name, "arguments": text}}
