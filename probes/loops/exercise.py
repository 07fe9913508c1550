"""A task and what goes wrong in it, played turn by turn: pure, calls in, results out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from probes.loops.fault import Fault, FaultKind
from probes.loops.task import Task
from probes.loops.world import Call, ErrorCode, Refusal, step, text_of
from probes.tools.canonical import sha256_of

_UNAVAILABLE = Refusal(ErrorCode.UNAVAILABLE, "The service is busy for a moment and did nothing. Try again.")


@dataclass(frozen=True, slots=True)
class Exercise:
    """`key` is the content hash of the task and its fault; `anchor` is whether every week has it."""

    task: Task
    fault: Fault | None = None
    anchor: bool = field(default=False, compare=False)
    key: str = field(init=False)

    def __post_init__(self) -> None:
        fault = self.fault
        key = sha256_of([self.task.key, None if fault is None else [fault.kind, fault.at, fault.text]])
        object.__setattr__(self, "key", key)

    @property
    def kind(self) -> str:
        """What the exercises of all weeks that stand in one place have in common."""
        return f"{self.task.scenario}-{self.task.rounds}"

    @property
    def oracle_steps(self) -> int:
        """The fewest turns with calls in which the goal can be reached."""
        return self.task.rounds + (self.fault.extra_rounds if self.fault else 0)

    @property
    def max_steps(self) -> int:
        return 2 * self.oracle_steps + 2

    def strikes(self, kind: FaultKind, place: Place) -> bool:
        """Whether a fault of this kind strikes the call that now does its work."""
        fault = self.fault
        return fault is not None and fault.kind is kind and fault.at == place.done and not place.struck


@dataclass(frozen=True, slots=True)
class Place:
    """Where an exercise stands: `done` calls have done their work, and the fault has `struck` or not yet."""

    state: Any
    done: int = 0
    struck: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What one call brought: the content of its tool message, and why it did nothing, None where it did."""

    text: str
    error: ErrorCode | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """The calls of one turn with their replies, in order. `swapped`: their results are told in the other order."""

    calls: tuple[Call, ...]
    replies: tuple[Reply, ...]
    swapped: bool = False


def play(exercise: Exercise, place: Place, calls: Sequence[Call]) -> tuple[Place, Turn]:
    """One turn: the calls are made one after the other."""
    replies = []
    for call in calls:
        place, reply = _make(exercise, place, call)
        replies.append(reply)
    fault = exercise.fault
    swapped = fault is not None and fault.kind is FaultKind.SWAPPED and not place.struck and len(calls) > 1
    return replace(place, struck=place.struck or swapped), Turn(tuple(calls), tuple(replies), swapped)


def oracle_turns(exercise: Exercise) -> list[Turn]:
    """The shortest way: the script, with every call that the fault cost made once more."""
    place, turns = Place(exercise.task.start), []
    for round_ in exercise.task.script:
        due: tuple[Call, ...] = round_
        while due:
            place, turn = play(exercise, place, due)
            turns.append(turn)
            due = tuple(call for call, reply in zip(due, turn.replies, strict=True) if _is_lost(reply))
    return turns


def _is_lost(reply: Reply) -> bool:
    return reply.error is ErrorCode.UNAVAILABLE or reply.text == ""


def _make(exercise: Exercise, place: Place, call: Call) -> tuple[Place, Reply]:
    made = step(exercise.task.tools, place.state, call)
    if isinstance(made.result, Refusal):
        return place, Reply(text_of(made.result), made.result.code)
    if exercise.strikes(FaultKind.ERROR_ONCE, place):
        return replace(place, struck=True), Reply(text_of(_UNAVAILABLE), _UNAVAILABLE.code)
    text, struck = _told(exercise, place, made.result)
    return Place(made.state, place.done + 1, place.struck or struck), Reply(text)


def _told(exercise: Exercise, place: Place, result: Mapping[str, Any]) -> tuple[str, bool]:
    """The text of a result as the fault leaves it, and whether it did anything to it."""
    added = exercise.fault.text if exercise.fault else ""
    if exercise.strikes(FaultKind.EMPTY, place):
        return "", True
    if exercise.strikes(FaultKind.LONG_RESULT, place):
        return text_of({**result, "log": added}), True
    if exercise.strikes(FaultKind.INSTRUCTION, place):
        return text_of({**result, "note": added}), True
    return text_of(result), False
