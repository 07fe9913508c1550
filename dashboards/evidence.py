"""The evidence of an endpoint's streams as a page shows it: the document, the chart, and the streams in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dashboards.evidence_chart import Begin, Change, EvidenceChart, Step
from dashboards.numbers import minute
from dashboards.past import Past
from monitor.drift.decision import Event
from monitor.drift.evidence import Null
from monitor.drift.rule import Verdict
from monitor.drift.stream_standing import Phase
from monitor.render.streams import TIERS, document_of, short, worth_text
from monitor.render.wording import percent
from monitor.streams_document import OnsetStatement, StreamsDocument, StreamStatement

_NULLS = {
    Null.LAWFUL_MEAN: "its mean score is lawful",
    Null.EXCHANGEABLE: "its rounds could change places",
    Null.REFERENCE: "its answers are the reference's",
    Null.STATED: "its answers are drawn from what it states itself",
}


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A stream in words; `name` is its probe set in full."""

    tier: str
    probe_set: str
    name: str
    verdict: Verdict
    worth: str
    rounds: int
    standing: str
    last: str
    statement: StreamStatement


@dataclass(frozen=True)
class Evidence:
    """Of one endpoint and the time that its page shows."""

    past: Past

    @cached_property
    def document(self) -> StreamsDocument:
        view = self.past.state.streams.view(self.past.endpoint_id)
        return document_of(self.past.standing.endpoint, view, self.past.now)

    @cached_property
    def chart(self) -> EvidenceChart:
        found = self.past.state.streams.path(self.past.endpoint_id, self.past.span)
        return EvidenceChart(
            span=self.past.span,
            steps=tuple(Step(point.at, point.epoch, point.worth, point.value) for point in found.points),
            looks=found.looks,
            epochs=tuple(Begin(epoch.opened_at, epoch.number) for epoch in found.epochs),
            proofs=tuple(point.at for point in found.points if Event.DRIFTED.value in point.events),
            change=self._change(),
        )

    @property
    def rows(self) -> list[StreamRow]:
        return [row_of(one) for one in self.document.streams]

    @property
    def promise(self) -> str:
        """What is promised, in a sentence; empty without an epoch."""
        promise = self.document.promise
        if promise is None:
            return ""
        return (
            f"While scores keep to the levels below, E reaches {promise.drift_at:,.0f} within the epoch’s "
            f"{promise.epoch_days:.3g} days with a chance of at most {percent(promise.alpha)}, however often one looks."
        )

    @property
    def onset(self) -> str:
        return onset_words(self.document.onset)

    def _change(self) -> Change | None:
        onset, epoch = self.document.onset, self.document.epoch
        if onset is None or epoch is None:
            return None
        return Change(onset.after or epoch.opened_at, onset.until)


def row_of(one: StreamStatement) -> StreamRow:
    reasons = one.last.reasons if one.last is not None else ()
    return StreamRow(
        tier=f"{one.tier.value} {TIERS[one.tier]}",
        probe_set=short(one.probe_set) + (f" (escalation {one.escalation})" if one.escalation else ""),
        name=one.probe_set,
        verdict=one.verdict,
        worth=worth_text(one.worth),
        rounds=one.rounds,
        standing=standing(one),
        last=reasons[-1] if reasons else "",
        statement=one,
    )


def standing(one: StreamStatement) -> str:
    """What it waits for, or what it bets against, in words."""
    match one.phase:
        case Phase.WAITING:
            return "Nothing was asked yet."
        case Phase.INAPPLICABLE:
            return f"Says nothing: {one.reason}."
        case Phase.CALIBRATING:
            since = "" if one.calibrating_since is None else f" since {minute(one.calibrating_since)}"
            until = f"; levels at the earliest {minute(one.levels_at)}" if one.levels_at else ""
            why = f" ({one.reason})" if one.reason else ""
            return f"Learns what is lawful{since}{until}{why}. Until then its ranks are shown at most."
    if one.levels is not None:
        return (
            f"Lawful is a mean score of at most {one.levels.hourly:.3f} in six hours and {one.levels.daily:.3f} over "
            f"days, from {one.levels.days} days (δ {one.levels.delta:.3f})."
        )
    return "Bets." if one.null is None else f"Bets against: {_NULLS[one.null]}."


def onset_words(onset: OnsetStatement | None) -> str:
    """Since when, in a sentence; empty where it is not known."""
    if onset is None:
        return ""
    began = "may have been there from the beginning of the epoch"
    if onset.after is not None:
        began = f"began after {minute(onset.after)}"
    return (
        f"The change {began} and not later than {minute(onset.until)}, likeliest with the round of "
        f"{minute(onset.first)}; it was proven {minute(onset.detected)} UTC."
    )
