"""Signals and rules of the tests, and a machine that remembers what it said."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from monitor.alerts.core import AlertCore
from monitor.alerts.events import Event, EventKind
from monitor.alerts.rule import BUILT_IN, AlertRule
from monitor.alerts.signals import Failed, Signal, Tick, Verdicted
from monitor.alerts.states import AlertState
from monitor.alerts.step import step
from monitor.drift.rule import Verdict

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
EVERY = timedelta(minutes=15)
DRIFT, AVAILABILITY, NO_DATA = BUILT_IN


def slot(number: float) -> datetime:
    return AT + number * EVERY


def verdict(number: float, found: Verdict, *, fresh: bool = True, maintenance: bool = False) -> Verdicted:
    return Verdicted(f"chk_{number}", slot(number), "logprobs", found, fresh=fresh, maintenance=maintenance)


def failed(number: float, error: str = "provider_unreachable") -> Failed:
    return Failed(f"chk_{number}", slot(number), error)


def tick(number: float, *, quiet_since: float) -> Tick:
    return Tick(slot(number), slot(quiet_since))


@dataclass
class Machine:
    """One fingerprint under one rule."""

    rule: AlertRule = DRIFT
    core: AlertCore | None = None
    events: list[Event] = field(default_factory=list)

    def __call__(self, *signals: Signal) -> Machine:
        for signal in signals:
            stepped = step(self.core, signal, self.rule)
            self.core = stepped.core
            self.events += stepped.events
        return self

    def see(self, start: float, verdicts: str) -> Machine:
        """One verdict a slot: `d`rift, `s`uspect, `o`k, `?` inconclusive."""
        words = {"d": Verdict.DRIFT, "s": Verdict.SUSPECT, "o": Verdict.OK, "?": Verdict.INCONCLUSIVE}
        return self(*(verdict(start + place, words[letter]) for place, letter in enumerate(verdicts)))

    @property
    def state(self) -> AlertState | None:
        return None if self.core is None else self.core.state

    @property
    def kinds(self) -> list[EventKind]:
        return [event.kind for event in self.events]

    @property
    def notices(self) -> list[EventKind]:
        return [event.kind for event in self.events if event.notice]
