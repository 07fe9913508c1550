"""The overview: a matrix of providers and models, each cell one glance at an endpoint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from starlette.responses import Response

from dashboards.configured import Configured, key, labels_of
from dashboards.figures import POINTS, figures
from dashboards.sparkline import DAYS, Sparkline, sparkline
from dashboards.states import WAITING, State, state_of
from dashboards.troubles import RECENT, troubles
from dashboards.visit import Visit
from monitor.config import EndpointConfig
from monitor.store.alert_records import AlertRecord
from monitor.store.beats import Beats
from monitor.store.browse_records import EndpointOverview
from monitor.store.pages_queries import Board
from monitor.worker.canary import CONNECTIVITY, Connectivity
from monitor.worker.tick import TICKING, Ticking

# An endpoint that the configuration no longer names stays in sight for so long after its last check.
_REMEMBERED = timedelta(days=DAYS)


@dataclass(frozen=True, slots=True)
class Cell:
    """One endpoint. `endpoint_id` is None for one that is configured and was never seen; `name` is what the provider
    calls the model; `scheduled`: something checks it."""

    provider: str
    model: str
    name: str
    labels: tuple[tuple[str, str], ...]
    state: State
    endpoint_id: str | None = None
    score: str = ""
    delta: str = ""
    spark: Sparkline | None = None
    checked_at: datetime | None = None
    next_at: datetime | None = None
    scheduled: bool = True

    def matches(self, wanted: str) -> bool:
        """Whether some word of it has `wanted` in it."""
        words = [self.provider, self.model, self.name, *(f"{name}:{value}" for name, value in self.labels)]
        return any(wanted in word.lower() for word in words)


@dataclass(frozen=True, slots=True)
class Row:
    model: str
    cells: tuple[tuple[str, tuple[Cell, ...]], ...]


def overview(visit: Visit) -> Response:
    configured = Configured.stored(visit.state)
    today = visit.now.replace(hour=0, minute=0, second=0, microsecond=0)
    board = visit.queries.board(tuple(POINTS.values()), today - timedelta(days=DAYS))
    every = [*_seen(board, configured, visit.now), *_unseen(board, configured)]
    only, wanted = bool(visit.asked("problems")), visit.asked("filter").strip()[:100]
    shown = [cell for cell in every if (cell.state.problem or not only) and cell.matches(wanted.lower())]
    providers = list(dict.fromkeys(cell.provider for cell in sorted(shown, key=lambda cell: cell.provider)))
    return visit.page(
        "overview.html",
        rows=_rows(shown, providers),
        providers=providers,
        total=len(every),
        shown=len(shown),
        problems=sum(cell.state.problem for cell in every),
        only=only,
        filter=wanted,
        checked_at=max((cell.checked_at for cell in every if cell.checked_at), default=None),
        next_at=min((cell.next_at for cell in every if cell.next_at), default=None),
        troubles=_troubles(visit, configured) if every else [],
        alert_count=sum(alert.fired_at is not None for alert in board.alerts),
    )


def _troubles(visit: Visit, configured: Configured) -> list[str]:
    beats = Beats(visit.state.store.sessions)
    ticking = Ticking.from_json(beats.setting(TICKING))
    connectivity = Connectivity.from_json(beats.setting(CONNECTIVITY))
    upkeep = visit.queries.upkeep(visit.now, RECENT)
    return troubles(upkeep, ticking, connectivity, configured.problem, visit.now)


def _seen(board: Board, configured: Configured, now: datetime) -> Iterable[Cell]:
    alerts: defaultdict[str | None, list[AlertRecord]] = defaultdict(list)
    for alert in board.alerts:
        alerts[alert.endpoint_id].append(alert)
    for each in board.endpoints:
        cell = _cell(each, board, alerts[each.endpoint.id], configured, now)
        if cell.scheduled or (cell.checked_at is not None and now - cell.checked_at < _REMEMBERED):
            yield cell


def _cell(
    each: EndpointOverview, board: Board, alerts: Sequence[AlertRecord], configured: Configured, now: datetime
) -> Cell:
    endpoint, labels = each.endpoint, labels_of(each.endpoint)
    evidence = board.evidence.get(each.judged.id, ()) if each.judged is not None else ()
    measured = figures(evidence)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    slots = configured.slots(endpoint)
    days = board.days.get((endpoint.id, measured.point), ()) if measured else ()
    return Cell(
        provider=endpoint.provider,
        model=endpoint.model,
        name=endpoint.served_name,
        labels=tuple(sorted(labels.items())),
        state=state_of(each, alerts, maintenance=configured.in_maintenance(labels, now)),
        endpoint_id=endpoint.id,
        score=measured.score if measured else "",
        delta=measured.delta if measured else "",
        spark=sparkline(days, measured.unit, today) if measured else None,
        checked_at=_ended(each),
        next_at=None if slots is None else slots.next_slot(now),
        scheduled=slots is not None,
    )


def _ended(each: EndpointOverview) -> datetime | None:
    ends = [check.finished_at for check in (each.latest, each.judged) if check is not None and check.finished_at]
    return max(ends, default=None)


def _unseen(board: Board, configured: Configured) -> Iterable[Cell]:
    known = {key(each.endpoint) for each in board.endpoints}
    return (_waiting(entry) for place, entry in configured.endpoints.items() if place not in known)


def _waiting(entry: EndpointConfig) -> Cell:
    labels = tuple(sorted(entry.matching_labels.items()))
    return Cell(entry.provider, entry.model, entry.name, labels, WAITING)


def _rows(cells: Sequence[Cell], providers: Sequence[str]) -> list[Row]:
    placed: defaultdict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        placed[cell.model, cell.provider].append(cell)
    models = sorted({cell.model for cell in cells})
    return [Row(model, tuple((provider, tuple(placed[model, provider])) for provider in providers)) for model in models]
