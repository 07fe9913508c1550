"""A score that can be given up while it is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from reference_engine.interface import Scored
from reference_engine.jobs import ScoreJob


class Scoring:
    """Closed from any thread, `result` raises CancelledError to whoever waits for it, and nothing more is computed."""

    def __init__(self, job: ScoreJob, compute: Callable[[], Scored]) -> None:
        self._job = job
        self.result = compute

    def close(self) -> None:
        self._job.result.cancel()


@runtime_checkable
class Interruptible(Protocol):
    def scoring(
        self, ids: Sequence[int], *, start: int, top_k: int, token_ids: Sequence[int] | None, profile: str
    ) -> Scoring: ...
