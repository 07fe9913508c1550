"""What an engine has done and holds, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from reference_engine.interface import Exactness


@dataclass(frozen=True, slots=True)
class Figures:
    """Of all profiles in memory. `counts` are those of the schedulers, by name; `recorded_positions` were answered
    from records; `rows` ran in `passes`; `kv_bytes_used` of `kv_bytes` hold keys, values and records, whether a
    request runs with them or they are kept for the next."""

    counts: Mapping[str, int]
    recorded_positions: int
    passes: int
    rows: int
    kv_bytes: int
    kv_bytes_used: int


@runtime_checkable
class Instrumented(Protocol):
    """An engine that can be looked into."""

    def exactness(self, profile: str) -> tuple[Exactness, str | None]: ...

    def figures(self) -> Figures: ...
