"""What a measurement means to a rule: good, bad, doubtful, or nothing."""

from __future__ import annotations

from enum import StrEnum

from monitor.alerts.rule import AlertRule, Watch
from monitor.alerts.signals import Failed, Measured, Tick, Verdicted
from monitor.drift.rule import Verdict


class Bearing(StrEnum):
    GOOD = "good"
    DOUBTFUL = "doubtful"
    BAD = "bad"
    NONE = "none"


_OF_VERDICT = {
    Verdict.OK: Bearing.GOOD,
    Verdict.SUSPECT: Bearing.DOUBTFUL,
    Verdict.DRIFT: Bearing.BAD,
    Verdict.INCONCLUSIVE: Bearing.NONE,
    Verdict.INAPPLICABLE: Bearing.NONE,
}
MOVED = (Verdict.SUSPECT, Verdict.DRIFT)


def bearing(signal: Measured, rule: AlertRule) -> Bearing:
    """A failed check says nothing of quality, and any verdict says that the endpoint answers and is heard of. One that
    more requests fail is a doubt whether it answers, and no drift."""
    match rule.watches, signal:
        case Watch.DRIFT, Verdicted():
            return Bearing.NONE if signal.of_availability else _OF_VERDICT[signal.verdict]
        case Watch.AVAILABILITY, Verdicted() if signal.of_availability and signal.verdict in MOVED:
            return Bearing.DOUBTFUL
        case Watch.AVAILABILITY, Failed():
            return Bearing.BAD
        case Watch.AVAILABILITY | Watch.NO_DATA, Verdicted():
            return Bearing.GOOD
        case Watch.NO_DATA, Tick():
            silent = signal.at - signal.quiet_since >= rule.no_data_after * rule.every
            return Bearing.BAD if silent else Bearing.NONE
    return Bearing.NONE
