"""Counts the calls of a loop that were refused, and those of them that it made good."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from probes.loops.exercise import Turn
from probes.loops.world import INVALID, ErrorCode

# What an unknown tool is made good by: any other.
_ANY = None


@dataclass(slots=True)
class Errors:
    """`invalid` counts those that no tool could take, `recovered` those whose tool was called well in a later turn."""

    all: int = 0
    invalid: int = 0
    recovered: int = 0
    _open: Counter[str | None] = field(default_factory=Counter)

    def add(self, turn: Turn) -> None:
        pairs = list(zip(turn.calls, turn.replies, strict=True))
        good = {call.name for call, reply in pairs if reply.error is None}
        for name in [*good, _ANY] if good else []:
            self.recovered += self._open.pop(name, 0)
        for call, reply in pairs:
            if reply.error is not None:
                self.all += 1
                self.invalid += reply.error in INVALID
                self._open[_ANY if reply.error is ErrorCode.UNKNOWN_TOOL else call.name] += 1
