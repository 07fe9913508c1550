"""The scripted arm: each turn of an exercise's shortest way is a case of its own, its history fixed.

What an endpoint says at one turn changes nothing at the next, so that turns are independent and comparable with the
reference's. A loop that went astray cannot be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from probes.loops.exercise import Exercise, oracle_turns
from probes.loops.history import Message, canonical_ids, results, scripted
from probes.loops.world import Call
from probes.tools.case import Case, Category, ExpectedCall, Leaf, Oracle, Trigger
from probes.tools.pointers import leaves

REPS = 4


def scripted_cases(
    exercise: Exercise, request: Mapping[str, Any], *, reps: int = REPS, anchor: bool = False
) -> list[Case]:
    """A case for each turn, the final answer's included. `request` is merged into each (max_tokens and the like)."""
    task = exercise.task
    fault = exercise.fault.kind.value if exercise.fault else "sound"
    cases = []
    for turn, (messages, oracle) in enumerate(_turns(exercise)):
        body = {**request, "messages": messages, "tools": task.declarations, "tool_choice": "auto"}
        tags = (f"rounds-{task.rounds}", f"turn-{turn}", fault)
        cases.append(Case(Category.T15, f"loop-{task.scenario}", body, oracle, anchor, reps, tags=tags))
    return cases


def _turns(exercise: Exercise) -> Iterator[tuple[list[Message], Oracle]]:
    history: list[Message] = [dict(message) for message in exercise.task.messages]
    called = 0
    for turn in oracle_turns(exercise):
        yield list(history), Oracle(Trigger.MUST, tuple(map(_expected, turn.calls)))
        ids = canonical_ids(called, len(turn.calls))
        called += len(ids)
        history += [scripted(turn, ids), *results(turn, ids)]
    last = Leaf("regex", re.escape(exercise.task.answer[-1]))
    yield history, Oracle(Trigger.MUST_NOT, content=last)


def _expected(call: Call) -> ExpectedCall:
    return ExpectedCall(call.name, {pointer: Leaf("exact", value) for pointer, value in leaves(call.arguments)})
