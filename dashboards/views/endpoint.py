"""The page of an endpoint: the verdict, its history as charts, what was found last, and what happened."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response

from dashboards.chart import METRICS, Chart, Range, Width
from dashboards.configured import Configured, covered, labels_of
from dashboards.evidence import Evidence
from dashboards.evidence_chart import PROOF_LETTER
from dashboards.marks import Marked, picture
from dashboards.past import ALERT_LETTER, LETTERS, NAMES, Past
from dashboards.sentences import headline, standing_of_fidelity, still_standing
from dashboards.states import state_of
from dashboards.visit import Visit
from monitor.check.recall import checks_of, fidelity_of, said_of
from monitor.render.beside import said_tables
from monitor.render.checks import check_tables
from monitor.render.table import Table
from monitor.standing import stand_of, stands_of_probes
from monitor.store.alert_records import AlertFilter
from monitor.store.browse_records import ChangeFilter, RunFilter
from monitor.store.keyset import Window
from monitor.store.vocabulary import AlertState

_ALERTS = 10
_RUNS = 15
_CHANGES = 15
_LINES = 100
# Where these are known, token counts add nothing.
_TELL_MORE = frozenset({"fidelity", "logprobs_shift"})


def endpoint(visit: Visit) -> Response:
    configured = Configured.stored(visit.state)
    past = Past.asked(visit, configured)
    record, browse = past.standing.endpoint, visit.state.browse
    labels = labels_of(record)
    alerts = visit.state.alerts.list(Window(_ALERTS), AlertFilter(endpoint_id=record.id)).items
    still_open = [alert for alert in alerts if alert.state is not AlertState.RESOLVED]
    evidence = Evidence(past)
    charts = _shown([past.chart(name) for name in METRICS])
    maintenance = covered(labels, configured.open_windows(visit.now))
    expected = configured.expected(record, visit.now)
    stand = stand_of(past.standing.standing, expected, visit.now)
    state = state_of(past.standing, stand, still_open, maintenance=maintenance)
    return visit.page(
        "endpoint.html",
        endpoint=record,
        labels={name: value for name, value in sorted(labels.items()) if name not in ("provider", "model")},
        state=state,
        headline=headline(past.standing, stand, state, still_open, past.stands),
        still_standing=still_standing(stand, state),
        fidelity=standing_of_fidelity(found for _, found in past.stands),
        stands=stands_of_probes(past.standing.standing, expected, visit.now),
        latest=past.standing.latest,
        judged=past.standing.judged,
        next_at=None if past.slots is None else past.slots.next_slot(visit.now),
        found=_found(past) if past.evidence else (),
        said=said_tables(said_of(past.evidence)),
        evidence=evidence,
        evidence_sizes=_sizes([evidence.chart]),
        charts=charts,
        sizes=_sizes(charts),
        marks=past.marks[: -_LINES - 1 : -1],
        mark_count=len(past.marks),
        range=past.length,
        ranges=tuple(Range),
        alerts=alerts,
        runs=browse.runs(RunFilter(endpoint_id=record.id), Window(_RUNS)).items,
        changes=browse.changes(ChangeFilter(endpoint_id=record.id), Window(_CHANGES)).items,
        letters=LETTERS,
        alert_letter=ALERT_LETTER,
        proof_letter=PROOF_LETTER,
        names=NAMES,
    )


def _found(past: Past) -> list[Table]:
    tables = check_tables(checks_of(past.evidence), fidelity_of(past.evidence, ()))
    return [table for table in tables if table]


def _shown(charts: Sequence[Chart]) -> list[Chart]:
    """Those with anything to see; the token counts only where nothing tells more."""
    found = [chart for chart in charts if chart.points]
    told = {chart.metric.name for chart in found}
    return [chart for chart in found if chart.metric.name != "token_offset" or not told & _TELL_MORE]


def _sizes(charts: Sequence[Marked]) -> dict[str, tuple[int, int]]:
    """The pictures' widths and heights: charts of one time have the same marks, and so the same room for them."""
    return {width.value: picture(charts[0], width) for width in Width} if charts else {}
