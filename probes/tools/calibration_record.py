"""What two runs of a reference have answered so far: a calibration takes long, and goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from probes.tools.calibration import REPEATS, Calibration, Count, calibrate, calibration_plan, screened
from probes.tools.case import Case
from probes.tools.plan import ToolPlan

RUNS = ("first", "second")
_UNASKED, _CALLED, _NOT, _NO_ANSWER = ".", "1", "0", "x"
_MARKS = {True: _CALLED, False: _NOT, None: _NO_ANSWER}


class Record:
    """Of each run a mark for each repeat of each case that it has begun with, by the case's key."""

    def __init__(self, runs: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._runs = {name: dict((runs or {}).get(name, {})) for name in RUNS}

    def to_json(self) -> dict[str, dict[str, str]]:
        """What the constructor takes."""
        return {name: dict(marks) for name, marks in self._runs.items()}

    def take(self, run: int, case_key: str, rep: int, called: bool | None) -> None:
        """`rep` is that of the run's plan; `called` is None for an answer that says nothing of it, and for none."""
        marks, rep = self._runs[RUNS[run]], rep - _offset(run)
        known = marks.get(case_key, _UNASKED * REPEATS)
        marks[case_key] = known[:rep] + _MARKS[called] + known[rep + 1 :]

    def merge(self, other: Record) -> None:
        """Add what another process has asked."""
        for name, marks in other._runs.items():
            own = self._runs[name]
            for key, theirs in marks.items():
                ours = own.get(key, _UNASKED * REPEATS)
                own[key] = "".join(b if a == _UNASKED else a for a, b in zip(ours, theirs, strict=True))

    def run_at_hand(self, candidates: Sequence[Case]) -> int | None:
        """The run that has something left to ask; None where all is answered."""
        return next((run for run in range(len(RUNS)) if any(self._left(run, self._wanted(run, candidates)))), None)

    def plan(self, run: int, candidates: Sequence[Case], *, seed: bytes) -> ToolPlan:
        """What the run has left to ask. Its repeats have numbers that no check and no other run has: they say what the
        reference's randomness is, which would otherwise be the same."""
        wanted = self._wanted(run, candidates)
        made = calibration_plan(wanted, seed=seed, run_nonce=f"calibration-{RUNS[run]}".encode())
        left = set(self._left(run, wanted))
        items = [
            replace(item, rep=_offset(run) + item.rep)
            for item in made.plan.items
            if (made.cases[item.key].key, item.rep) in left
        ]
        return replace(made, plan=replace(made.plan, items=tuple(items)))

    def asked(self, run: int, candidates: Sequence[Case]) -> tuple[int, int]:
        """How many requests of a run are answered, and of how many."""
        wanted = self._wanted(run, candidates)
        total = REPEATS * len(wanted)
        return total - sum(1 for _ in self._left(run, wanted)), total

    def calibration(self, candidates: Sequence[Case]) -> Calibration:
        """What the answers come to, once all are there."""
        first, second = (_counts(self._runs[name]) for name in RUNS)
        return calibrate(candidates, first, second)

    def _wanted(self, run: int, candidates: Sequence[Case]) -> list[Case]:
        if run == 0:
            return list(candidates)
        worth = set(screened(_counts(self._runs[RUNS[0]])))
        return [case for case in candidates if case.key in worth]

    def _left(self, run: int, wanted: Sequence[Case]) -> Iterable[tuple[str, int]]:
        marks = self._runs[RUNS[run]]
        for case in wanted:
            known = marks.get(case.key, _UNASKED * REPEATS)
            yield from ((case.key, rep) for rep in range(REPEATS) if known[rep] == _UNASKED)


def _offset(run: int) -> int:
    """What is added to the number of each repeat of a run."""
    return REPEATS * (run + 1)


def _counts(marks: Mapping[str, str]) -> dict[str, Count]:
    return {key: Count(found.count(_CALLED), found.count(_CALLED) + found.count(_NOT)) for key, found in marks.items()}
