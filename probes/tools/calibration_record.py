"""What two runs of a reference have answered so far: a calibration takes long, and goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from probes.tools.calibration import FIRST_PART, LOOK, REPEATS, Calibration, Count, calibrate, given_up, screened
from probes.tools.calibration_piece import CASES_OF_A_PIECE, Piece, piece
from probes.tools.case import Case

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

    @property
    def empty(self) -> bool:
        return not any(self._runs.values())

    def answered(self) -> Record:
        """Without what got no answer, which is asked again then."""
        runs = {
            name: {key: found.replace(_NO_ANSWER, _UNASKED) for key, found in marks.items()}
            for name, marks in self._runs.items()
        }
        return Record(runs)

    def run_at_hand(self, candidates: Sequence[Case]) -> int | None:
        """The run that has something left to ask; None where all is answered."""
        return next((run for run in range(len(RUNS)) if any(self._left(run, candidates))), None)

    def piece(self, candidates: Sequence[Case], *, seed: bytes) -> Piece | None:
        """What is asked next: the first cases that have something left, so that each is done with soon. Its repeats
        have numbers that no check and no other run has: they say what the reference's randomness is, which would
        otherwise be the same."""
        run = self.run_at_hand(candidates)
        if run is None:
            return None
        asked = islice(self._left(run, candidates), CASES_OF_A_PIECE)
        reps = [(case, [_offset(run) + rep for rep in left[: len(left) % LOOK or LOOK]]) for case, left in asked]
        return piece(run, reps, seed=seed, run_nonce=f"calibration-{RUNS[run]}".encode())

    def settled(self, run: int, candidates: Sequence[Case]) -> tuple[int, int]:
        """How many candidates a run is done with, and of how many."""
        wanted = self._wanted(run, candidates)
        return len(wanted) - sum(1 for _ in self._left(run, candidates)), len(wanted)

    def in_doubt(self) -> int:
        """Of how many candidates the first run was worth a second one, as far as it has come."""
        return len(screened(_counts(self._runs[RUNS[0]])))

    def calibration(self, candidates: Sequence[Case]) -> Calibration:
        """What the answers come to, once all are there."""
        first, second = (_counts(self._runs[name]) for name in RUNS)
        return calibrate(candidates, first, second)

    def _wanted(self, run: int, candidates: Sequence[Case]) -> Sequence[Case]:
        worth = set(screened(_counts(self._runs[RUNS[0]])))
        if run > 0:
            return [case for case in candidates if case.key in worth]
        part = candidates[:FIRST_PART]
        settled = not any(self._unasked(0, case) for case in part)
        return part if settled and worth.isdisjoint(case.key for case in part) else candidates

    def _left(self, run: int, candidates: Sequence[Case]) -> Iterable[tuple[Case, list[int]]]:
        for case in self._wanted(run, candidates):
            if left := self._unasked(run, case):
                yield case, left

    def _unasked(self, run: int, case: Case) -> list[int]:
        """The repeats that are still worth asking for."""
        known = self._runs[RUNS[run]].get(case.key, _UNASKED * REPEATS)
        left = [rep for rep in range(REPEATS) if known[rep] == _UNASKED]
        at_a_look = len(left) % LOOK == 0
        return [] if run == 0 and at_a_look and given_up(_count(known), len(left)) else left


def _offset(run: int) -> int:
    """What is added to the number of each repeat of a run."""
    return REPEATS * (run + 1)


def _counts(marks: Mapping[str, str]) -> dict[str, Count]:
    return {key: _count(found) for key, found in marks.items()}


def _count(found: str) -> Count:
    return Count(found.count(_CALLED), found.count(_CALLED) + found.count(_NOT))
