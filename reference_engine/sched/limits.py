"""What a scheduler may do, and what it has done."""

from __future__ import annotations

from dataclasses import dataclass

from reference_engine.errors import EngineRequestError


@dataclass(frozen=True, slots=True)
class Limits:
    """Rows of one pass, requests that run at a time, and tokens drafted for a request at a time."""

    token_budget: int
    max_running: int
    max_drafted: int = 0

    def __post_init__(self) -> None:
        if self.token_budget < 1 or self.max_running < 1 or self.max_drafted < 0:
            raise EngineRequestError(
                f"A token budget of {self.token_budget}, {self.max_running} running requests and {self.max_drafted} "
                "drafted tokens are not possible.",
                remedy="Allow at least one token, one request and no fewer than zero drafts.",
            )


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests that wait and run now; of all time, preemptions, tokens found in the prefix cache, and tokens that were
    drafted and proved right."""

    waiting: int
    running: int
    preemptions: int
    cached_tokens: int
    drafted_tokens: int
    accepted_tokens: int
