"""What a check is asked to do, and whom it tells how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, Self

from monitor.errors import UsageError
from probes.plan import ProbeKind

DEFAULT_N = 40
LEAST_N = 4
MOST_N = 10_000
PROBES = (ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING, ProbeKind.LATENCY)


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """n: single-token requests of the check. max_cost: US dollars. timeout: seconds for all sending. confirms: whether
    it repeats a check that found drift, on fresh prompts. keep_bodies: for how long requests and answers of earlier
    checks are kept, where no service's configuration is stored that says so. Raises UsageError for what cannot be
    meant."""

    probes: tuple[ProbeKind, ...] = PROBES
    n: int = DEFAULT_N
    max_cost: float | None = None
    timeout: float | None = None
    save: bool = True
    confirms: bool = False
    keep_bodies: timedelta = timedelta(days=14)

    def __post_init__(self) -> None:
        if not LEAST_N <= self.n <= MOST_N:
            raise UsageError(
                f"--n {self.n} is not between {LEAST_N} and {MOST_N}.", remedy=f"The default is {DEFAULT_N}."
            )
        if self.max_cost is not None and not self.max_cost > 0.0:
            raise UsageError(f"--max-cost {self.max_cost} is not above 0.", remedy="Give US dollars, such as 0.01.")
        if self.timeout is not None and not self.timeout > 0.0:
            raise UsageError(f"--timeout {self.timeout:g} s is not above 0.", remedy="Give a time such as 90s or 10m.")

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The options of a queue entry: `probes` (names), `n`, `max_cost`, `timeout`; each has a default."""
        known = {key: stored[key] for key in ("n", "max_cost", "timeout") if stored.get(key) is not None}
        names = stored.get("probes")
        if names:
            known["probes"] = tuple(kind for kind in PROBES if kind.value in names)
            unknown = sorted(set(map(str, names)) - {kind.value for kind in PROBES})
            if unknown:
                raise UsageError(f"There is no probe {unknown[0]}.", remedy="Name logprobs, accounting or latency.")
        return cls(**known)

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        given = {"n": self.n, "max_cost": self.max_cost, "timeout": self.timeout}
        return {"probes": [kind.value for kind in self.probes], **{k: v for k, v in given.items() if v is not None}}


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
