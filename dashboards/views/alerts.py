"""Alerts: all of them in a list, and one in full with why it fired and who was told."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from starlette.responses import Response

from dashboards.configured import Configured
from dashboards.sentences import moved, reasons, size_of
from dashboards.visit import Visit
from monitor.alerts.holds import Holds
from monitor.check.recall import check_of
from monitor.deliveries.facts import Finding
from monitor.render.measures import Measures, measures
from monitor.store.alert_records import AlertFilter, AlertRecord, SilenceRecord
from monitor.store.keyset import Position, Window
from monitor.store.records import CheckRun, EvidenceRecord, RunRecord
from monitor.worker.our_faults import entries_by_id, our_faults

_LIST = "alerts page"
_PAGE = 50
_MOST_SILENCES = 200
SHOWN = {"open": True, "resolved": False, "all": None}
# How long a silence may be made to last here.
DURATIONS = {
    "1h": ("1 hour", timedelta(hours=1)),
    "4h": ("4 hours", timedelta(hours=4)),
    "1d": ("1 day", timedelta(days=1)),
    "7d": ("7 days", timedelta(days=7)),
    "30d": ("30 days", timedelta(days=30)),
}


def alert_list(visit: Visit) -> Response:
    show = visit.asked("show") if visit.asked("show") in SHOWN else "open"
    after = _position(visit, visit.asked("after")) if visit.asked("after") else None
    page = visit.state.alerts.list(Window(_PAGE, after), AlertFilter(open=SHOWN[show]))
    return visit.page(
        "alerts.html",
        show=show,
        alerts=[(alert, moved(alert)) for alert in page.items],
        holds=_holds(visit, list(page.items)),
        first=after is None,
        next=_cursor(visit, page.next) if page.next else "",
    )


def alert_detail(visit: Visit) -> Response:
    alert = visit.state.alerts.show(visit.path("alert_id"))
    found = Finding.of(alert.finding)
    return visit.page(
        "alert.html",
        alert=alert,
        moved=moved(alert),
        reasons=list(reasons(alert, visit.now)),
        found=found,
        proof=_proof(visit.queries.checks_evidence(found.checks, alert.metric), alert.metric),
        events=visit.state.alerts.events(alert.id),
        notices=visit.queries.notices_of(alert.id, alert.opened_at),
        holds=_holds(visit, [alert]).get(alert.id, Holds()),
        silences=_covering(visit, alert),
        durations=DURATIONS,
        scopes=scopes(alert),
    )


def _proof(parts: Iterable[CheckRun], metric: str) -> list[tuple[RunRecord, EvidenceRecord, str, Measures]]:
    """What each run found of the metric, how much that is, and between which levels."""
    return [
        (part.run, found, size_of(part, found), measures(check_of(found)))
        for part in parts
        for found in part.evidence
        if found.metric == metric
    ]


def scopes(alert: AlertRecord) -> dict[str, tuple[str, dict[str, str]]]:
    """What a silence from an alert's page may cover: what it is called, and its matchers."""
    labels = alert.labels
    named = {name: labels[name] for name in ("provider", "model") if name in labels}
    found = {}
    if named:
        found["alert"] = ("this alert's rule and metric here", {**named, **_own(alert)})
        found["endpoint"] = ("everything about this endpoint", named)
        found["provider"] = ("everything about this provider", {"provider": named["provider"]})
    return found


def _own(alert: AlertRecord) -> dict[str, str]:
    return {name: alert.labels[name] for name in ("rule", "metric") if alert.labels.get(name)}


def _holds(visit: Visit, alerts: list[AlertRecord]) -> dict[str, Holds]:
    configured, store = Configured.stored(visit.state), visit.state.store
    entries = entries_by_id(store, (known.entry for known in configured.endpoints.values()))
    faults = our_faults(store, entries, visit.now)
    return visit.state.alerts.holds(alerts, at=visit.now, windows=configured.maintenance, conditions=faults)


def _covering(visit: Visit, alert: AlertRecord) -> list[SilenceRecord]:
    """The silences that hold, or will hold, notices of the alert back."""
    silences = visit.state.alerts.silences(Window(_MOST_SILENCES), not_over_at=visit.now).items
    return [s for s in silences if s.silence.covers(alert.labels, max(visit.now, s.starts_at))]


def _cursor(visit: Visit, position: Position) -> str:
    at = position.key
    return visit.state.key.cursor(_LIST, [at.isoformat() if isinstance(at, datetime) else at, position.id])


def _position(visit: Visit, cursor: str) -> Position:
    at, alert_id = visit.state.key.read_cursor(_LIST, cursor)
    return Position(datetime.fromisoformat(at), alert_id)
