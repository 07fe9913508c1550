"""When what arrived: the times from which every latency is derived, and whether output was held back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from probes.completion import Timings
from probes.wire.usage import BURST_TOKENS

_LAST_PART_OF_TIME = 0.05
_NEARLY_ALL = 0.9
# No decoder makes its chunks so soon after each other. Without it a fast one behind a long queue would be a burst.
_FASTEST_GAP_S = 0.001


class Timeline:
    """Marks what happened with seconds after the request was sent. What comes without a time leaves no mark.

    `recorded` is what the first reading of the same body found: then its times are taken, and none are given.
    """

    def __init__(self, recorded: Timings | None = None) -> None:
        self._recorded = recorded
        self._recorded_chunks = iter(recorded.chunks if recorded else ())
        self._first: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._arrivals: list[tuple[float, int]] = []
        self._first_output_tokens: int | None = None
        self._has_output = False

    def mark_first(
        self,
        name: Literal["headers", "first_event", "first_role", "first_output", "first_answer", "finish", "done"],
        at: float | None,
    ) -> None:
        """Something that counts when it happens the first time."""
        if at is not None:
            self._first.setdefault(name, at)

    def mark_last(self, name: Literal["last_output", "usage"], at: float | None) -> None:
        """Something that counts when it happens the last time."""
        if at is not None:
            self._last[name] = at

    def mark_output(self, at: float | None, size: int, tokens: int | None) -> None:
        """One chunk with output: `size` characters, `tokens` of them where that is known."""
        if not self._has_output:
            self._has_output = True
            self._first_output_tokens = tokens
        self.mark_first("first_output", at)
        self.mark_last("last_output", at)
        arrival = next(self._recorded_chunks, at)
        if arrival is not None:
            self._arrivals.append((arrival, size))

    def timings(self) -> Timings:
        return self._recorded or Timings(
            **self._first,
            **self._last,
            chunks=tuple(at for at, _ in self._arrivals),
            first_output_tokens=self._first_output_tokens,
        )

    def held_back(self, completion_tokens: int | None) -> bool | None:
        """Whether nearly all output came at once; None where no times are known."""
        if not self._arrivals:
            return None
        tokens = len(self._arrivals) if completion_tokens is None else completion_tokens
        if tokens < BURST_TOKENS:
            return False
        return is_burst(self._arrivals)


def is_burst(arrivals: Sequence[tuple[float, int]]) -> bool:
    """Whether nine tenths of what came, each part with its time and its size, came in the last twentieth of the time,
    its parts less than a millisecond apart."""
    begin = arrivals[-1][0] * (1 - _LAST_PART_OF_TIME)
    late = [(at, size) for at, size in arrivals if at >= begin]
    if sum(size for _, size in late) < _NEARLY_ALL * sum(size for _, size in arrivals):
        return False
    return len(late) == 1 or (late[-1][0] - late[0][0]) / (len(late) - 1) < _FASTEST_GAP_S
