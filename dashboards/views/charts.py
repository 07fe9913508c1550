"""A chart of an endpoint: as a picture, and as a table of the same numbers."""

from __future__ import annotations

from starlette.responses import Response

from dashboards.chart import METRICS, Chart, Metric, Theme, Width
from dashboards.configured import Configured
from dashboards.drawer import drawn
from dashboards.evidence_chart import EvidenceChart
from dashboards.past import Past
from dashboards.visit import PRIVATE, Visit
from monitor.errors import NotFoundError

_ROWS = 25
_FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}


def chart_picture(visit: Visit) -> Response:
    """The page's address of it carries the digest of its content, so that a browser asks once for each."""
    metric = _asked_metric(visit)
    return chart_answer(visit, Past.asked(visit, Configured.stored(visit.state)).chart(metric.name))


def chart_answer(visit: Visit, chart: Chart | EvidenceChart) -> Response:
    """As it was asked for, in theme and width."""
    theme = Theme.DARK if visit.asked("theme") == Theme.DARK else Theme.LIGHT
    width = Width(visit.asked("width")) if visit.asked("width") in tuple(Width) else Width.WIDE
    known = visit.asked("v") == chart.digest
    return Response(drawn(chart, theme, width), media_type="image/svg+xml", headers=_FOR_EVER if known else PRIVATE)


def series_table(visit: Visit) -> Response:
    """The newest first, some rows a page."""
    metric, past = _asked_metric(visit), Past.asked(visit, Configured.stored(visit.state))
    series = past.series(metric.name)
    points = series.points[::-1]
    last = max(1, -(-len(points) // _ROWS))
    number = min(max(1, visit.asked_number("page")), last)
    return visit.page(
        "series.html",
        endpoint=past.standing.endpoint,
        metric=metric,
        range=past.length,
        points=points[(number - 1) * _ROWS : number * _ROWS],
        count=len(points),
        width=series.width,
        number=number,
        last=last,
    )


def _asked_metric(visit: Visit) -> Metric:
    found = METRICS.get(visit.path("metric"))
    if found is None:
        raise NotFoundError("There is no such chart.", remedy="The endpoint's page shows those there are.")
    return found
