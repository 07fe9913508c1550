"""The scenarios a task can play in: each a simulator, and tasks in it of any even number of rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from probes.grammar import Draw
from probes.loops.scenarios import berths, stores, tickets
from probes.loops.task import Task

VERSION = "1"
ROUNDS = (2, 4, 8, 16)

_TASKS: Mapping[str, Callable[[Draw, int], Task]] = {
    "berths": berths.task,
    "stores": stores.task,
    "tickets": tickets.task,
}
SCENARIOS = tuple(_TASKS)


def task(seed: bytes, scenario: str, rounds: int, *, instance: str = "") -> Task:
    """The task of this seed. Another `instance` gives other names and values; equal arguments give an equal task."""
    if rounds not in ROUNDS:
        raise ValueError(f"a task has {', '.join(map(str, ROUNDS))} rounds, not {rounds}")
    return _TASKS[scenario](Draw(seed, "loop", VERSION, scenario, rounds, instance), rounds)
