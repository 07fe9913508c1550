"""Which loops a run asks: every scenario in every length, half of them with a fault, each so many times; names, values
and wording are other ones each week, but for the anchors'."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from probes.grammar import Draw
from probes.loops.exercise import Exercise
from probes.loops.fault import FaultKind, fault_for
from probes.loops.loop import Arm, Loop
from probes.loops.scenarios import ROUNDS, SCENARIOS, task

TRIALS = 4
_ANCHORED = (8, 16)

# Every fault is here, the swap where calls are parallel; the other exercises are sound.
_FAULTS = {
    ("berths", 4): FaultKind.ERROR_ONCE,
    ("berths", 16): FaultKind.LONG_RESULT,
    ("stores", 4): FaultKind.SWAPPED,
    ("stores", 16): FaultKind.EMPTY,
    ("tickets", 4): FaultKind.INSTRUCTION,
    ("tickets", 16): FaultKind.ERROR_ONCE,
}


def exercises(seed: bytes, week: int) -> list[Exercise]:
    """The twelve exercises of an installation in this week, the anchors among them."""
    stay = _anchors(seed)
    made = []
    for scenario, rounds in product(SCENARIOS, ROUNDS):
        anchor, kind = (scenario, rounds) in stay, _FAULTS.get((scenario, rounds))
        asked = task(seed, scenario, rounds, instance="" if anchor else f"week-{week}")
        made.append(Exercise(asked, None if kind is None else fault_for(asked, kind, seed), anchor))
    return made


def _anchors(seed: bytes) -> set[tuple[str, int]]:
    """One of each length that is long enough for its turns to be compared: a quarter of all turns."""
    return {(Draw(seed, "loop-anchors", rounds).choice(SCENARIOS), rounds) for rounds in _ANCHORED}


def loops(
    exercises: Sequence[Exercise],
    seed: bytes,
    nonce: bytes,
    *,
    arms: Sequence[Arm],
    trials: int = TRIALS,
) -> list[Loop]:
    """Each exercise `trials` times in each arm, trial by trial, so that every part of the list is a fair one.

    Odd trials stream. Use a nonce once.
    """
    return [
        Loop(exercise, arm, trial, stream=trial % 2 == 1, nonce=_session(seed, nonce, exercise, arm, trial))
        for trial, exercise, arm in product(range(trials), exercises, arms)
    ]


def _session(seed: bytes, nonce: bytes, exercise: Exercise, arm: Arm, trial: int) -> str:
    return Draw(seed, "loop-session", nonce, exercise.key, arm.value, trial).digits(8)
