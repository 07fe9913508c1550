"""The evidence of an endpoint's streams: its chart as a picture, and every look as a table."""

from __future__ import annotations

from datetime import datetime

from starlette.responses import Response

from dashboards.configured import Configured
from dashboards.evidence import Evidence
from dashboards.past import Past
from dashboards.views.charts import chart_answer
from dashboards.visit import Visit
from monitor.render.streams import worth_text
from monitor.store.keyset import Position, Window
from monitor.store.stream_pages import LookFilter

_LIST = "looks page"
_ROWS = 25
_EPOCHS = 25


def evidence_picture(visit: Visit) -> Response:
    chart = Evidence(Past.asked(visit, Configured.stored(visit.state))).chart
    return chart_answer(visit, chart)


def looks_table(visit: Visit) -> Response:
    """The newest first, some rows a page; and the epochs with why they ended."""
    past = Past.asked(visit, Configured.stored(visit.state))
    after = _position(visit, visit.asked("after")) if visit.asked("after") else None
    page = visit.state.streams.looks(LookFilter(past.endpoint_id), Window(_ROWS, after))
    return visit.page(
        "looks.html",
        endpoint=past.standing.endpoint,
        looks=[(look, worth_text(look.worth)) for look in page.items],
        epochs=visit.state.streams.epochs(past.endpoint_id, Window(_EPOCHS)).items,
        first=after is None,
        next="" if page.next is None else _cursor(visit, page.next),
    )


def _cursor(visit: Visit, position: Position) -> str:
    at = position.key
    return visit.state.key.cursor(_LIST, [at.isoformat() if isinstance(at, datetime) else at, position.id])


def _position(visit: Visit, cursor: str) -> Position:
    at, look_id = visit.state.key.read_cursor(_LIST, cursor)
    return Position(datetime.fromisoformat(at), look_id)
