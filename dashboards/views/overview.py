"""The overview: a matrix of providers and models, each cell one glance at an endpoint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import urlencode

from starlette.responses import Response

from dashboards.changed import changed
from dashboards.configured import Configured, covered, labels_of
from dashboards.figures import POINTS, figures
from dashboards.matrix import Cell, providers_of, rows, sheets
from dashboards.sparkline import DAYS, sparkline
from dashboards.states import WAITING, State, state_of
from dashboards.troubles import RECENT, troubles
from dashboards.visit import Visit
from monitor.check.identity import key_of
from monitor.config import EndpointConfig
from monitor.schedule import Schedule
from monitor.standing import stand_of
from monitor.store.alert_records import AlertRecord
from monitor.store.beats import Beats
from monitor.store.pages_queries import Board, EndpointGlance
from monitor.worker.canary import CONNECTIVITY, Connectivity
from monitor.worker.tick import TICKING, Ticking

# What one page of the matrix holds: about as much as anybody scrolls through, and a fifth of a second's work.
MOST_CELLS = 150
# An endpoint that the configuration no longer names stays in sight for so long after its last check.
_REMEMBERED = timedelta(days=DAYS)


def overview(visit: Visit) -> Response:
    configured = Configured.stored(visit.state)
    board = visit.queries.board()
    every = [*_seen(board, configured, visit.now), *_unseen(board, configured)]
    only, wanted = bool(visit.asked("problems")), visit.asked("filter").strip()[:100]
    fitting = [cell for cell in every if (cell.state.problem or not only) and cell.matches(wanted.lower())]
    pages = sheets(fitting, MOST_CELLS)
    number = min(max(1, visit.asked_number("page")), len(pages) or 1)
    shown = _measured(visit, pages[number - 1]) if pages else []
    return visit.page(
        "overview.html",
        rows=rows(shown),
        providers=providers_of(shown),
        total=len(every),
        fitting=len(fitting),
        problems=sum(cell.state.problem for cell in every),
        only=only,
        filter=wanted,
        number=number,
        last=len(pages),
        kept=urlencode([("problems", "1")] * only + [("filter", wanted)] * bool(wanted)),
        checked_at=max((cell.checked_at for cell in every if cell.checked_at), default=None),
        next_at=min((cell.next_at for cell in every if cell.next_at), default=None),
        troubles=_troubles(visit, configured) if every else [],
        changed=changed(visit.state.streams.worths(), {cell.endpoint_id for cell in every}),
        alert_count=sum(alert.fired_at is not None for alert in board.alerts),
    )


def _troubles(visit: Visit, configured: Configured) -> list[str]:
    beats = Beats(visit.state.store.sessions)
    ticking = Ticking.from_json(beats.setting(TICKING))
    connectivity = Connectivity.from_json(beats.setting(CONNECTIVITY))
    upkeep = visit.queries.upkeep(visit.now, RECENT)
    return troubles(upkeep, ticking, connectivity, configured.problem, visit.now)


def _seen(board: Board, configured: Configured, now: datetime) -> Iterator[Cell]:
    alerts: defaultdict[str | None, list[AlertRecord]] = defaultdict(list)
    for alert in board.alerts:
        alerts[alert.endpoint_id].append(alert)
    windows = configured.open_windows(now)
    for each in board.endpoints:
        labels = labels_of(each.endpoint)
        stand = stand_of(each.standing, configured.expected(each.endpoint, now), now)
        state = state_of(each, stand, alerts[each.endpoint.id], maintenance=covered(labels, windows))
        cell = _cell(each, labels, state, configured.slots(each.endpoint), now)
        if cell.scheduled or (cell.checked_at is not None and now - cell.checked_at < _REMEMBERED):
            yield cell


def _cell(each: EndpointGlance, labels: Mapping[str, str], state: State, slots: Schedule | None, now: datetime) -> Cell:
    endpoint = each.endpoint
    return Cell(
        provider=endpoint.provider,
        model=endpoint.model,
        name=endpoint.served_name,
        labels=tuple(sorted(labels.items())),
        state=state,
        endpoint_id=endpoint.id,
        checked_at=_ended(each),
        next_at=None if slots is None else slots.next_slot(now),
        scheduled=slots is not None,
    )


def _ended(each: EndpointGlance) -> datetime | None:
    ends = [check.finished_at for check in (each.latest, each.judged) if check is not None and check.finished_at]
    return max(ends, default=None)


def _unseen(board: Board, configured: Configured) -> Iterator[Cell]:
    known = {key_of(each.endpoint) for each in board.endpoints}
    return (_waiting(found.entry) for place, found in configured.endpoints.items() if place not in known)


def _waiting(entry: EndpointConfig) -> Cell:
    labels = tuple(sorted(entry.matching_labels.items()))
    return Cell(entry.provider, entry.model, entry.name, labels, WAITING)


def _measured(visit: Visit, cells: Sequence[Cell]) -> list[Cell]:
    """The cells with what was found last of each and what its last days say."""
    # What else was found may be a page of its own, and is none of this one's.
    evidence = visit.queries.latest_evidence([cell.endpoint_id for cell in cells if cell.endpoint_id], POINTS)
    found = [replace(cell, figures=figures(evidence.get(cell.endpoint_id or "", ()))) for cell in cells]
    metrics = {cell.endpoint_id: cell.figures.point for cell in found if cell.endpoint_id and cell.figures}
    today = visit.now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = visit.queries.days(metrics, today - timedelta(days=DAYS))
    return [
        replace(cell, spark=sparkline(days.get(cell.endpoint_id or "", ()), cell.figures.unit, today))
        if cell.figures
        else cell
        for cell in found
    ]
