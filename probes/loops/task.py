"""A task for an agent: what it is told, the world it acts in, the goal, and the shortest way there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from probes.grammar import Draw, fill
from probes.loops.world import Call, Tool
from probes.tools.canonical import sha256_of

T = TypeVar("T")

Round = tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """`script` holds the calls of each round of the shortest way from `start` to `goal`: each round needs what the one
    before has shown. A right answer holds every text of `answer`. `forbidden` is a call that nothing in the task asks
    for and that leads away from the goal.
    """

    scenario: str
    tools: tuple[Tool[Any], ...]
    start: Any
    goal: Any
    messages: tuple[Mapping[str, str], ...]
    script: tuple[Round, ...]
    answer: tuple[str, ...]
    forbidden: Call

    @property
    def rounds(self) -> int:
        return len(self.script)

    @property
    def declarations(self) -> list[dict[str, Any]]:
        return [tool.declaration for tool in self.tools]

    @property
    def key(self) -> str:
        """Content hash of what is told and what is right."""
        script = [[[call.name, call.arguments] for call in round_] for round_ in self.script]
        return sha256_of([self.scenario, self.messages, self.declarations, script, self.answer])


def told(system: str, user: str) -> tuple[Mapping[str, str], ...]:
    return {"role": "system", "content": system}, {"role": "user", "content": user}


def distinct(draw: Draw, frame: str, count: int) -> list[str]:
    """`count` different fillings of a grammar frame."""
    found: dict[str, None] = {}
    while len(found) < count:
        found.setdefault(fill(frame, draw))
    return list(found)


def shuffled(draw: Draw, items: Sequence[T]) -> list[T]:
    left = list(items)
    return [left.pop(draw.below(len(left))) for _ in items]


def drawn(draw: Draw, options: Mapping[str, Sequence[str]]) -> Callable[[str], str]:
    """What each role of a tool is called (or described as) in this task, of what it may be."""
    chosen = {role: draw.choice(texts) for role, texts in options.items()}
    return chosen.__getitem__
