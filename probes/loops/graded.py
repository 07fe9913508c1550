"""One free loop as it is kept: what it came to, and not a word of what was asked or said."""

from __future__ import annotations

from dataclasses import dataclass

from probes.loops.loop import Arm
from probes.loops.result import LoopResult


@dataclass(frozen=True, slots=True)
class GradedLoop:
    """`key` is the loop's, `exercise` the content hash of its task and fault, and `kind` what it has in common with the
    exercises of other weeks; empty for loops of the time when there was one week only."""

    key: str
    exercise: str
    arm: Arm
    stream: bool
    rep: int
    result: LoopResult
    kind: str = ""

    @property
    def way(self) -> str:
        """How it was asked, whatever the exercise."""
        return self.key.replace(self.exercise[:16], "")
