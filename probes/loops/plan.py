"""What a run of agent loops sends: the turns of the scripted arm as cases, then the free loops as conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from probes.loops.exercise import Exercise
from probes.loops.loop import Arm, Loop, Settings
from probes.loops.running import RunningLoop
from probes.loops.scenarios import VERSION
from probes.loops.scripted import scripted_cases
from probes.loops.selection import loops
from probes.plan import Item, Plan, ProbeKind
from probes.tools.case import Case
from probes.tools.plan import plain_plan


@dataclass(frozen=True, slots=True)
class PlannedLoop:
    """A free loop as a conversation of a plan."""

    loop: Loop
    settings: Settings
    foreseen: tuple[Item, ...]

    def begin(self) -> RunningLoop:
        return RunningLoop(self.loop, self.settings)


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """`loops` are the plan's conversations; the cases of its items go by item key."""

    plan: Plan
    cases: Mapping[str, Case]
    loops: tuple[PlannedLoop, ...]

    def first(self, part: float) -> LoopPlan:
        """The `part` of each arm that comes first: fewer repeats of the same turns and exercises, as long as it can."""
        items = self.plan.items[: ceil(len(self.plan.items) * part)]
        held = self.loops[: ceil(len(self.loops) * part)]
        return replace(self, plan=replace(self.plan, items=items, conversations=held), loops=held)


def plan(
    exercises: Sequence[Exercise],
    settings: Settings,
    *,
    seed: bytes,
    run_nonce: bytes,
    arms: Sequence[Arm],
    trials: int,
    reps: int,
    room: int | None = None,
) -> LoopPlan:
    """Every turn of the scripted arm `reps` times, and every exercise `trials` times in each of the free `arms`; with
    room for answers of at most `room` tokens, None for the usual."""
    if room is not None:
        settings = settings.with_room(room)
    cases = {made.key: scripted_cases(made, settings.request, reps=reps, anchor=made.anchor) for made in exercises}
    turns = plain_plan([case for each in cases.values() for case in each], seed=seed, run_nonce=run_nonce)
    held = tuple(
        PlannedLoop(replace(loop, room=room), settings, _foreseen(loop, cases[loop.exercise.key]))
        for loop in loops(exercises, seed, run_nonce, arms=arms, trials=trials)
    )
    sent = Plan(ProbeKind.AGENT_LOOPS, turns.plan.items, turns.plan.suite_sha256, VERSION, held)
    return LoopPlan(sent, turns.cases, held)


def _foreseen(loop: Loop, turns: Sequence[Case]) -> tuple[Item, ...]:
    """The shortest way, as the scripted arm has it."""
    return tuple(loop.turn(number, case.request) for number, case in enumerate(turns))
