"""What may happen to an alert: measurements, the passing of time, and what people decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from monitor.drift.multiplicity import Family
from monitor.drift.rule import Verdict


@dataclass(frozen=True, slots=True)
class Verdicted:
    """What one check found of one metric.

    `fresh`: on prompts that no earlier check of this episode was judged by, so that it may confirm one. `finding` holds
    what notices say: value, baseline, unit, ci, n, p, detector, causes, runs; JSON values, no prompt, no answer.
    `maintenance`: taken within a maintenance window. `proven`: it holds however often one looks (DETECTION.md 2.5), so
    that no other check has to confirm it.
    """

    check_id: str
    at: datetime
    metric: str
    verdict: Verdict
    fresh: bool = False
    proven: bool = False
    maintenance: bool = False
    finding: Mapping[str, Any] = field(default_factory=dict)

    @property
    def of_availability(self) -> bool:
        """Whether it says how many requests came through, and nothing of the answers."""
        return self.metric.partition(".")[2] == Family.AVAILABILITY


@dataclass(frozen=True, slots=True)
class Failed:
    """A check that got no verdict, because the endpoint could not be asked; `error_code` is of the error tree."""

    check_id: str
    at: datetime
    error_code: str
    maintenance: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed. `quiet_since`: when the endpoint last gave a verdict, or since when one is expected of it."""

    at: datetime
    quiet_since: datetime
    maintenance: bool = False


@dataclass(frozen=True, slots=True)
class Acked:
    at: datetime
    actor: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Unacked:
    at: datetime
    actor: str


@dataclass(frozen=True, slots=True)
class ResolvedByHand:
    at: datetime
    actor: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Commented:
    at: datetime
    actor: str
    text: str


@dataclass(frozen=True, slots=True)
class BaselineAccepted:
    """A person accepted what the endpoint is now."""

    at: datetime
    actor: str
    note: str


@dataclass(frozen=True, slots=True)
class RuleChanged:
    """The rule was edited or removed, or another one takes its findings now."""

    at: datetime
    actor: str


@dataclass(frozen=True, slots=True)
class Widened:
    """Another metric of the same endpoint fired under the same rule."""

    at: datetime
    metric: str


Measured = Verdicted | Failed | Tick
Decided = Acked | Unacked | ResolvedByHand | Commented | BaselineAccepted | RuleChanged | Widened
Signal = Measured | Decided
