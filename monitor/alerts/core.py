"""The state of one alert between two steps, and its way into JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self

from pydantic import TypeAdapter

from monitor.alerts.flapping import STILL, Swings
from monitor.alerts.rule import AlertRule, Watch
from monitor.alerts.signals import Measured, Tick
from monitor.alerts.states import AlertState, Severity

# A check is applied again only soon after it was first, by whoever took it over.
CHECKS_REMEMBERED = 32
# Hosts' clocks differ by less: what a second host found next may look older than what the first one found.
MOST_CLOCK_SKEW = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class AlertCore:
    """`rule` is the digest of the rule that opened it. `measured_at` is the time of the last measurement that counted,
    `bad_at` of the last bad one, `changed_at` of the last event. `bad` and `good` count measurements in a row.

    `suspected_by` is the check whose drift waits to be confirmed; `evidence` are the checks that made it fire.
    `checks` are those applied of late, over episodes, as `swings` are.
    """

    watches: Watch
    rule: str
    state: AlertState
    severity: Severity
    opened_at: datetime
    measured_at: datetime
    bad_at: datetime
    changed_at: datetime
    fired_at: datetime | None = None
    resolved_at: datetime | None = None
    bad: int = 0
    good: int = 0
    suspected_by: str | None = None
    evidence: tuple[str, ...] = ()
    acked_at: datetime | None = None
    acked_by: str | None = None
    flapping: bool = False
    swings: Swings = STILL
    checks: tuple[str, ...] = ()

    @classmethod
    def opening(cls, before: AlertCore | None, rule: AlertRule, at: datetime) -> Self:
        """The first state of a new episode; `before` is the episode before it."""
        return cls(
            watches=rule.watches,
            rule=rule.digest,
            state=AlertState.PENDING,
            severity=rule.severity,
            opened_at=at,
            measured_at=at,
            bad_at=at,
            changed_at=at,
            swings=before.swings if before else STILL,
            checks=before.checks if before else (),
        )

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> AlertCore:
        return _ADAPTER.validate_python(stored)

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = _ADAPTER.dump_python(self, mode="json")
        return found

    @property
    def open(self) -> bool:
        return self.state is not AlertState.RESOLVED

    @property
    def fired(self) -> bool:
        return self.fired_at is not None

    def set_right(self, at: datetime, now: datetime) -> AlertCore:
        """The state for a measurement of `at` that is applied at `now`: without times that a clock which ran ahead has
        left, as nothing would be new until they come."""
        if self.measured_at <= now + MOST_CLOCK_SKEW:
            return self
        return replace(
            self,
            opened_at=min(self.opened_at, at),
            measured_at=at,
            bad_at=min(self.bad_at, at),
            changed_at=min(self.changed_at, at),
            swings=self.swings.up_to(at),
        )

    def knows(self, signal: Measured) -> bool:
        """Whether the measurement was applied before, or is older than what was."""
        if signal.at < self.measured_at - (timedelta(0) if isinstance(signal, Tick) else MOST_CLOCK_SKEW):
            return True
        return not isinstance(signal, Tick) and signal.check_id in self.checks

    def remembering(self, signal: Measured) -> AlertCore:
        seen = replace(self, measured_at=max(self.measured_at, signal.at))
        if isinstance(signal, Tick):
            return seen
        return replace(seen, checks=(*self.checks, signal.check_id)[-CHECKS_REMEMBERED:])


_ADAPTER: TypeAdapter[AlertCore] = TypeAdapter(AlertCore)
