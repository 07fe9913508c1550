"""What a drill tells of itself while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

EXIT_NOT_PROVEN, EXIT_NOT_TAKEN = 1, 5

SCHEMA = "monitor.drill/1"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened, or should have: `seconds` after the drill began. `exit_code` is 0 where it did."""

    name: str
    at: datetime
    seconds: float
    told: str
    exit_code: int = 0


def exit_code_of(steps: Sequence[Step]) -> int:
    """That of the first step that went wrong; 0 where none did."""
    return next((step.exit_code for step in steps if step.exit_code), 0)


def drill_document(steps: Sequence[Step]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "passed": exit_code_of(steps) == 0,
        "steps": [
            {
                "name": step.name,
                "ok": step.exit_code == 0,
                "at": step.at.isoformat(),
                "seconds": round(step.seconds, 3),
                "told": step.told,
            }
            for step in steps
        ],
    }
