"""How an endpoint stands, as one letter, one word and one tone: what the overview shows of everything known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from monitor.alerts.states import AlertState
from monitor.drift.rule import Verdict
from monitor.store.alert_records import AlertRecord
from monitor.store.runs import ABANDONED
from monitor.store.vocabulary import RunStatus


@dataclass(frozen=True, slots=True)
class State:
    """Letter and word say what the tone's colour says, so that nobody needs the colour."""

    letter: str
    word: str
    tone: str
    problem: bool = False


DRIFT = State("D", "drift", "bad", problem=True)
ERROR = State("E", "provider error", "error", problem=True)
RECOVERING = State("R", "recovering", "warn", problem=True)
PENDING = State("P", "pending", "warn", problem=True)
SUSPECT = State("S", "suspect", "warn", problem=True)
NO_DATA = State("?", "no data", "none", problem=True)
MAINTENANCE = State("M", "maintenance", "info")
OK = State("O", "ok", "good")
ENROLLED = State("N", "new baseline", "info")
INCONCLUSIVE = State("I", "inconclusive", "none")
CHECKING = State("C", "checking", "info")
WAITING = State("–", "not checked yet", "none")

LEGEND = (
    OK, PENDING, SUSPECT, DRIFT, RECOVERING, NO_DATA, ERROR, MAINTENANCE, ENROLLED, INCONCLUSIVE, CHECKING, WAITING,
)  # fmt: skip

OF_VERDICT = {
    Verdict.OK: OK,
    Verdict.SUSPECT: SUSPECT,
    Verdict.DRIFT: DRIFT,
    Verdict.INCONCLUSIVE: INCONCLUSIVE,
    Verdict.INAPPLICABLE: State("–", "inapplicable", "none"),
}
OF_ALERT = {
    AlertState.FIRING: State("D", "firing", "bad", problem=True),
    AlertState.ERROR: State("E", "error", "error", problem=True),
    AlertState.RECOVERING: RECOVERING,
    AlertState.NO_DATA: NO_DATA,
    AlertState.PENDING: PENDING,
    AlertState.RESOLVED: State("O", "resolved", "good"),
}
# The graver first.
_ALERTED = {
    AlertState.ERROR: ERROR,
    AlertState.RECOVERING: RECOVERING,
    AlertState.NO_DATA: NO_DATA,
    AlertState.PENDING: PENDING,
}


class Check(Protocol):
    @property
    def status(self) -> RunStatus: ...

    @property
    def verdict(self) -> Verdict | None: ...

    @property
    def enrolled(self) -> bool: ...

    @property
    def error_code(self) -> str | None: ...


class Standing(Protocol):
    """An endpoint's last check, and its last one with a verdict."""

    @property
    def latest(self) -> Check | None: ...

    @property
    def judged(self) -> Check | None: ...


def state_of(standing: Standing, alerts: Iterable[AlertRecord], *, maintenance: bool) -> State:
    """`alerts` are the endpoint's open ones. A maintenance window covers everything but a proven drift."""
    found = {alert.state for alert in alerts}
    if AlertState.FIRING in found:
        return DRIFT
    if maintenance:
        return MAINTENANCE
    alerted = next((state for alert, state in _ALERTED.items() if alert in found), None)
    return alerted or _of_checks(standing.latest, standing.judged)


def _of_checks(latest: Check | None, judged: Check | None) -> State:
    # That a process of ours went away says nothing of the provider.
    if latest is not None and latest.status is RunStatus.FAILED and latest.error_code != ABANDONED:
        return ERROR
    if judged is not None and judged.verdict is not None:
        new = judged.enrolled and judged.verdict is Verdict.INCONCLUSIVE
        return ENROLLED if new else OF_VERDICT[judged.verdict]
    return WAITING if latest is None or latest.status.finished else CHECKING
