"""The past of one endpoint, as far back as a page looks: its series and what happened meanwhile, as charts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from dashboards.chart import METRICS, Chart, Mark, Range, gaps, within
from dashboards.configured import Configured
from dashboards.visit import Visit
from monitor.api.resources.endpoints import existing
from monitor.api.state import ApiState
from monitor.drift.rule import LAWFUL_SHIFT
from monitor.schedule import Schedule
from monitor.standing import StandingVerdict
from monitor.store.alert_records import AlertFilter
from monitor.store.browse_records import ChangeFilter, EndpointOverview
from monitor.store.keyset import Window
from monitor.store.pages_queries import PageQueries
from monitor.store.records import EvidenceRecord
from monitor.store.series import SeriesRecord, Span
from monitor.store.vocabulary import ChangeKind
from monitor.worker.configured import between

# As many slots may pass without a point before the chart says so.
_MISSED_SLOTS = 3
_MOST_MARKS = 1000

LETTERS = {
    ChangeKind.FINGERPRINT: "F",
    ChangeKind.CONFIG: "C",
    ChangeKind.BASELINE: "B",
    ChangeKind.PROVIDER_NOTICE: "N",
    ChangeKind.ENGINE: "E",
    ChangeKind.REFERENCE: "R",
    ChangeKind.STACK: "S",
}
ALERT_LETTER = "A"
NAMES = {
    ALERT_LETTER: "alert fired",
    **{letter: kind.value.replace("_", " ") for kind, letter in LETTERS.items()},
    LETTERS[ChangeKind.STACK]: "serving stack",
}


@dataclass(frozen=True)
class Past:
    """`slots` is when the endpoint is checked, None where nothing checks it."""

    state: ApiState
    standing: EndpointOverview
    slots: Schedule | None
    length: Range
    now: datetime

    @classmethod
    def asked(cls, visit: Visit, configured: Configured) -> Past:
        """Of the endpoint and the range in the address. Raises NotFoundError for an unknown endpoint."""
        standing = existing(visit.state, visit.path("endpoint_id"))
        slots = configured.slots(standing.endpoint)
        age = visit.now - standing.endpoint.created_at
        return cls(visit.state, standing, slots, Range.named(visit.asked("range"), age), visit.now)

    @property
    def endpoint_id(self) -> str:
        return self.standing.endpoint.id

    @property
    def span(self) -> Span:
        """Up to the next full minute, so that a chart of the same points is the same chart for a minute."""
        end = self.now.replace(second=0, microsecond=0) + timedelta(minutes=1)
        return Span(end - self.length.length, end)

    @cached_property
    def evidence(self) -> tuple[EvidenceRecord, ...]:
        """Of the last check that came to a verdict."""
        judged = self.standing.judged
        if judged is None:
            return ()
        return PageQueries(self.state.store.sessions).check_evidence([judged.id]).get(judged.id, ())

    @cached_property
    def stands(self) -> tuple[tuple[StandingVerdict, EvidenceRecord], ...]:
        """What stands of everything that was asked, with what was found."""
        return PageQueries(self.state.store.sessions).standing_evidence(self.endpoint_id)

    def chart(self, name: str) -> Chart:
        found = self.series(name)
        missing = gaps(found.points, self.span.end, self._patience(found.width))
        return Chart(METRICS[name], self.span, found.points, missing, self.marks, self._lawful(name))

    def series(self, name: str) -> SeriesRecord:
        return self.state.series.series(self.endpoint_id, name, self.span)

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        return within((*self._changes(), *self._alerts()), self.span)

    def _changes(self) -> Iterator[Mark]:
        wanted = ChangeFilter(endpoint_id=self.endpoint_id, since=self.span.start)
        for change in self.state.browse.changes(wanted, Window(_MOST_MARKS)).items:
            yield Mark(change.at, LETTERS[change.kind], alert=False)

    def _alerts(self) -> Iterator[Mark]:
        wanted = AlertFilter(endpoint_id=self.endpoint_id, since=self.span.start)
        for alert in self.state.alerts.list(Window(_MOST_MARKS), wanted).items:
            if alert.fired_at is not None:
                yield Mark(alert.fired_at, ALERT_LETTER, alert=True)

    def _patience(self, width: timedelta | None) -> timedelta | None:
        if self.slots is None:
            return None
        return _MISSED_SLOTS * between(self.slots, self.now) + 2 * (width or timedelta(0))

    def _lawful(self, name: str) -> float | None:
        """Up to where a distance means nothing: what was last said of its reference, or the detector's own."""
        if name == "logprobs_shift":
            return LAWFUL_SHIFT
        found = [e.detail.get("lawful") for _, e in self.stands if e.metric == "fidelity" and name == "fidelity"]
        return next((float(lawful) for lawful in found if isinstance(lawful, int | float)), None)
