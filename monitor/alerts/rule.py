"""Rules: what an alert of each is about, how it clears, and which rule takes which finding."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from monitor.alerts.states import AlertState, Severity
from monitor.config.matching import matches

if TYPE_CHECKING:
    from monitor.config.service import Rule


class Watch(StrEnum):
    """What a rule looks at: what was found, whether the endpoint answers, whether anything is heard of it."""

    DRIFT = "drift"
    AVAILABILITY = "availability"
    NO_DATA = "no_data"


_BURNING = {
    Watch.DRIFT: AlertState.FIRING,
    Watch.AVAILABILITY: AlertState.ERROR,
    Watch.NO_DATA: AlertState.NO_DATA,
}


@dataclass(frozen=True, slots=True)
class AlertRule:
    """`every` is the interval of the endpoint's schedule; `keep_firing_for` and `no_data_after` are counted in it.

    `clear_for`: good checks in a row that resolve. `error_after`: failed checks in a row that fire (availability).
    """

    id: str
    watches: Watch
    severity: Severity
    match: Mapping[str, str] = field(default_factory=dict)
    clear_for: int = 3
    keep_firing_for: int = 2
    no_data_after: int = 3
    error_after: int = 2
    every: timedelta = timedelta(minutes=15)

    @classmethod
    def from_config(cls, rule: Rule, every: timedelta) -> AlertRule:
        """A rule of the file. One that is named like a built-in rule watches what that one does."""
        return cls(
            id=rule.id,
            watches=next((built_in.watches for built_in in BUILT_IN if built_in.id == rule.id), Watch.DRIFT),
            severity=Severity(rule.severity),
            match=dict(rule.match),
            clear_for=rule.clear_for,
            keep_firing_for=rule.keep_firing_for,
            no_data_after=rule.no_data_after,
            error_after=rule.error_after,
            every=every,
        )

    @property
    def burning(self) -> AlertState:
        """The state in which an alert of this rule has fired."""
        return _BURNING[self.watches]

    @property
    def digest(self) -> str:
        """Over all that decides when an alert fires and clears: an edit of it starts its alerts anew."""
        decisive = [
            self.id,
            self.watches.value,
            sorted(self.match.items()),
            self.clear_for,
            self.keep_firing_for,
            self.no_data_after,
            self.error_after,
        ]
        return _digest(decisive)


BUILT_IN = (
    AlertRule("drift", Watch.DRIFT, Severity.CRITICAL),
    AlertRule("availability", Watch.AVAILABILITY, Severity.WARNING, clear_for=2, keep_firing_for=0),
    AlertRule("no-data", Watch.NO_DATA, Severity.WARNING, clear_for=1, keep_firing_for=0),
)


def rules_for(configured: Iterable[Rule], labels: Mapping[str, str], every: timedelta) -> tuple[AlertRule, ...]:
    """The rules of one endpoint, in order: those of the file, then the built-in ones that the file does not name.

    `error_after` and `no_data_after` of the first rule that fits the endpoint count for the built-in rules too.
    """
    given = list(configured)
    own = [AlertRule.from_config(rule, every) for rule in given if rule.enabled]
    limits = next((rule for rule in own if rule.watches is Watch.DRIFT and matches(rule.match, labels)), BUILT_IN[0])
    named = {rule.id for rule in given}
    built_in = [
        replace(rule, every=every, error_after=limits.error_after, no_data_after=limits.no_data_after)
        for rule in BUILT_IN
        if rule.id not in named
    ]
    return (*own, *built_in)


def rule_for(rules: Sequence[AlertRule], watches: Watch, labels: Mapping[str, str]) -> AlertRule | None:
    """The rule that takes a finding with these labels: the first that watches its kind and fits."""
    return next((rule for rule in rules if rule.watches is watches and matches(rule.match, labels)), None)


def fingerprint(rule_id: str, endpoint_id: str | None, metric: str) -> str:
    """What makes two findings one alert; at most one alert of a fingerprint is open."""
    return _digest([rule_id, endpoint_id, metric])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()
