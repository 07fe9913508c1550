"""Scored answers made up of facts: what the tests of the rates share."""

from __future__ import annotations

from typing import Any

from probes.tools.case import Category, Trigger
from probes.tools.ladder import Rung
from probes.tools.scored import Availability, Scored, ScoredCall

FINE = Availability(first_ok=True, eventually_ok=True, shed=False)
LOST = Availability(first_ok=False, eventually_ok=False, shed=False)


def scored(key: str = "a", **facts: Any) -> Scored:
    plain: dict[str, Any] = {
        "case_key": key,
        "category": Category.T1,
        "family": "berths",
        "trigger": Trigger.MUST,
        "anchor": False,
        "rep": 0,
        "stream": False,
        "availability": FINE,
        "completed": True,
    }
    return Scored(**{**plain, **facts})


def called(key: str, *, times: int, of: int, **facts: Any) -> list[Scored]:
    """`of` answers to one case, the first `times` of them with a call."""
    return [scored(key, called=rep < times, rep=rep, **facts) for rep in range(of)]


def call(strict: Rung, lenient: Rung | None = None, *, judged: bool = True, draft7: bool | None = True) -> ScoredCall:
    return ScoredCall("book", strict, lenient or strict, judged=judged, draft7=draft7)
