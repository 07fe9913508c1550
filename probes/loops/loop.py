"""What a free loop is: an exercise, how it is asked, and the request it begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from probes.loops.exercise import Exercise
from probes.loops.history import Message, Reasoning
from probes.plan import Item

# Tokens of an answer.
ROOM = 2048


class Arm(StrEnum):
    """Which ids the history of a free loop gives the endpoint's calls."""

    OWN_IDS = "own-ids"
    CANONICAL_IDS = "canonical-ids"


@dataclass(frozen=True, slots=True)
class Settings:
    """How an endpoint's loops are asked: `request` is merged into every request (temperature, max_tokens and the like),
    `reasoning` is how it wants its reasoning back."""

    request: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0, "max_tokens": ROOM})
    reasoning: Reasoning = Reasoning.DROPPED

    def with_room(self, most: int) -> Settings:
        """With room for answers of at most `most` tokens."""
        return replace(self, request={**self.request, "max_tokens": min(most, ROOM)})


@dataclass(frozen=True, slots=True)
class Loop:
    """An exercise to be asked freely. `nonce` stands at the head of the conversation, where it touches no decision;
    `room` is for how many tokens of an answer there is room, where that is less than usual: what is cut then is no
    matter of chance, so that it is another loop."""

    exercise: Exercise
    arm: Arm = Arm.OWN_IDS
    rep: int = 0
    stream: bool = False
    nonce: str = ""
    room: int | None = None

    @property
    def key(self) -> str:
        """Stable for an exercise asked in this way; the repeats share it."""
        mode = "stream" if self.stream else "plain"
        cut = "" if self.room is None else f"-{self.room}"
        return f"loop-{self.exercise.key[:16]}-{self.arm.value}-{mode}{cut}"

    def turn(self, number: int, request: Mapping[str, Any]) -> Item:
        """A request of the loop. From the second on it has the form in which the first was accepted, and where the
        endpoint turns down what it said itself, that is an answer."""
        return Item(f"{self.key}-turn-{number}", self.rep, request, verbatim=number > 0)

    def first_request(self, settings: Settings) -> dict[str, Any]:
        task = self.exercise.task
        stream = {"stream": True, "stream_options": {"include_usage": True}} if self.stream else {"stream": False}
        return {
            "messages": _with_nonce(task.messages, self.nonce),
            "tools": task.declarations,
            "tool_choice": "auto",
            **settings.request,
            **stream,
        }


def _with_nonce(messages: Sequence[Mapping[str, str]], nonce: str) -> list[Message]:
    first, *others = messages
    content = f"Session {nonce}. {first['content']}" if nonce else first["content"]
    return [{**first, "content": content}, *map(dict, others)]
