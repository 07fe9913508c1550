"""The words of an alert: its states, and how urgent it is."""

from __future__ import annotations

from enum import StrEnum


class AlertState(StrEnum):
    """Where an alert stands. `resolved` is terminal: a new episode is a new alert."""

    PENDING = "pending"
    FIRING = "firing"
    RECOVERING = "recovering"
    NO_DATA = "no_data"
    ERROR = "error"
    RESOLVED = "resolved"


class Severity(StrEnum):
    """How urgent an alert is, the least urgent first."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)
