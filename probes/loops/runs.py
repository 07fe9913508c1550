"""What the free loops of a plan come to, by the samples that are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from probes.conversation import replay
from probes.loops.graded import GradedLoop
from probes.loops.loop import Loop
from probes.loops.plan import PlannedLoop
from probes.loops.result import LoopResult
from probes.plan import Sample


@dataclass(frozen=True, slots=True)
class LoopRun:
    """One loop with its samples in the order of its turns; each holds the whole request it was asked with."""

    loop: Loop
    result: LoopResult
    samples: tuple[Sample, ...]

    @property
    def graded(self) -> GradedLoop:
        loop = self.loop
        made = loop.exercise
        return GradedLoop(loop.key, made.key, loop.arm, loop.stream, loop.rep, self.result, made.kind)


def runs_of(loops: Iterable[PlannedLoop], samples: Iterable[Sample]) -> list[LoopRun]:
    """Those that the samples bring to their end, in the loops' order: what was broken off on its way says nothing."""
    there = {(sample.item.key, sample.item.rep): sample for sample in samples}
    runs = []
    for one in loops:
        running = one.begin()
        taken = replay(running, there)
        if running.stop is not None:
            runs.append(LoopRun(one.loop, running.result, tuple(taken)))
    return runs
