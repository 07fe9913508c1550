"""How an endpoint stands, as one letter, one word and one tone: what the overview shows of everything known."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from monitor.alerts.states import AlertState
from monitor.drift.rule import Verdict
from monitor.standing import Stand
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
OLD = State("U", "out of date", "none", problem=True)
INCONCLUSIVE = State("I", "inconclusive", "none")
INAPPLICABLE = State("–", "inapplicable", "none")
CHECKING = State("C", "checking", "info")
WAITING = State("–", "not checked yet", "none")

LEGEND = (
    OK, PENDING, SUSPECT, DRIFT, RECOVERING, NO_DATA, ERROR, MAINTENANCE, ENROLLED, OLD, INCONCLUSIVE, CHECKING,
    WAITING,
)  # fmt: skip

OF_VERDICT = {
    Verdict.OK: OK,
    Verdict.SUSPECT: SUSPECT,
    Verdict.DRIFT: DRIFT,
    Verdict.INCONCLUSIVE: INCONCLUSIVE,
    Verdict.INAPPLICABLE: INAPPLICABLE,
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


class Checked(Protocol):
    """An endpoint's last check, and its last one with a verdict."""

    @property
    def latest(self) -> Check | None: ...

    @property
    def judged(self) -> Check | None: ...


def state_of(checked: Checked, stand: Stand, alerts: Collection[AlertRecord], *, maintenance: bool) -> State:
    """`alerts` are the endpoint's open ones. A maintenance window covers everything but a proven drift."""
    found = {alert.state for alert in alerts}
    if AlertState.FIRING in found:
        return DRIFT
    if maintenance:
        return MAINTENANCE
    told = {alert.metric for alert in alerts}
    if stand.verdict is Verdict.DRIFT and not all(one.metric in told for one in stand.saying):
        return DRIFT
    alerted = next((state for alert, state in _ALERTED.items() if alert in found), None)
    return alerted or _of_checks(checked.latest, checked.judged, stand)


def _of_checks(latest: Check | None, judged: Check | None, stand: Stand) -> State:
    # That a process of ours went away says nothing of the provider.
    if latest is not None and latest.status is RunStatus.FAILED and latest.error_code != ABANDONED:
        return ERROR
    if stand.verdict is Verdict.OK and stand.old:
        return OLD
    if stand.verdict is Verdict.INCONCLUSIVE and judged is not None and judged.enrolled:
        return ENROLLED
    if stand.verdict is not None:
        return OF_VERDICT[stand.verdict]
    return WAITING if latest is None or latest.status.finished else CHECKING
