"""What a check is asked to do, and whom it tells how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from monitor.errors import UsageError
from probes.plan import ProbeKind

DEFAULT_N = 40
PROBES = (ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING, ProbeKind.LATENCY)


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """n: single-token requests of the check. max_cost: US dollars. timeout: seconds for all sending. Raises UsageError
    for what cannot be meant."""

    probes: tuple[ProbeKind, ...] = PROBES
    n: int = DEFAULT_N
    max_cost: float | None = None
    timeout: float | None = None
    save: bool = True

    def __post_init__(self) -> None:
        if not 4 <= self.n <= 10_000:
            raise UsageError(f"--n {self.n} is not between 4 and 10000.", remedy=f"The default is {DEFAULT_N}.")
        if self.max_cost is not None and not self.max_cost > 0.0:
            raise UsageError(f"--max-cost {self.max_cost} is not above 0.", remedy="Give US dollars, such as 0.01.")
        if self.timeout is not None and not self.timeout > 0.0:
            raise UsageError(f"--timeout {self.timeout:g} s is not above 0.", remedy="Give a time such as 90s or 10m.")


class Progress(Protocol):
    """Told of every step, so that a terminal can show a bar."""

    def begin(self, steps: int, what: str) -> None: ...

    def step(self, what: str) -> None: ...


class Silent:
    """Tells nobody."""

    def begin(self, steps: int, what: str) -> None:
        """Nothing to show."""

    def step(self, what: str) -> None:
        """Nothing to show."""
