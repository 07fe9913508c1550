"""What is read of an endpoint's streams to be shown: from what is stored of them, without computing it anew."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from monitor.drift.count_stream import CountStream, Tally
from monitor.drift.decision import DRIFT_AT, Event
from monitor.drift.endpoint_streams import EndpointStreams, weights_of
from monitor.drift.evidence import Counts, Scores, Statement
from monitor.drift.onset import Onset, count_onset, onset
from monitor.drift.score_stream import Round, ScoreStream
from monitor.drift.stream_standing import levels_of
from monitor.drift.streams import StreamState
from monitor.errors import EvidenceRefusedError
from monitor.store import stream_pages
from monitor.store.keyset import Page, Window
from monitor.store.series import Span
from monitor.store.session import Sessions
from monitor.store.stream_evidence import statement
from monitor.store.stream_pages import LookFilter, StreamEvidenceFilter
from monitor.store.stream_recorded import current
from monitor.store.stream_records import EpochRecord
from monitor.store.stream_rows import Place, open_epoch, places, record_of
from monitor.store.stream_view_records import (
    EndpointView,
    EndpointWorth,
    LookRecord,
    StreamEvidenceRecord,
    StreamPath,
    StreamView,
)
from monitor.store.stream_worths import worths
from monitor.store.tables import EndpointEpoch, EndpointLook, StreamEvidence

_MOST_NEWS = 50


class _Told(NamedTuple):
    """How much of an epoch's evidence is of one stream; `last` is the id of the last piece."""

    rounds: int
    answers: int
    tokens: int
    last: int


@dataclass(frozen=True)
class OpenEpoch:
    """An open epoch of an endpoint's streams, as it is stored."""

    session: Session
    epoch: EndpointEpoch
    now: EndpointStreams

    @classmethod
    def of(cls, session: Session, endpoint_id: str) -> OpenEpoch | None:
        """None where no epoch is open."""
        try:
            epoch = open_epoch(session, endpoint_id)
        except EvidenceRefusedError:
            return None
        return cls(session, epoch, current(session, epoch))

    def view(self) -> EndpointView:
        return EndpointView(
            record_of(self.session, self.epoch),
            self.now,
            tuple(self._views()),
            stream_pages.last_look(self.session, self.epoch),
            self.news,
            self.onset() if self._drifted is not None else None,
        )

    def onset(self) -> Onset | None:
        """That of the stream which tells it best; None where none does. Up to the proof, where there is one."""
        best = max(self._onsets.values(), key=lambda one: one.won, default=None)
        if best is None or self._drifted is None:
            return best
        return replace(best, detected=self._drifted.at.timestamp())

    @cached_property
    def news(self) -> tuple[LookRecord, ...]:
        return stream_pages.news(self.session, self.epoch, _MOST_NEWS)

    @cached_property
    def _onsets(self) -> Mapping[int, Onset]:
        """By the stream's row: of those whose bets have won enough to say when."""
        found = {place.row.id: self._onset(place) for place in self._places if place.row.escalation == 0}
        return {each: one for each, one in found.items() if one is not None and one.credible}

    @cached_property
    def _drifted(self) -> LookRecord | None:
        """The look that proved the endpoint's drift."""
        return next((look for look in self.news if Event.DRIFTED.value in look.events), None)

    @cached_property
    def _places(self) -> list[Place]:
        return [place for place in places(self.session, self.epoch.id) if place.row.closed_at is None]

    def _views(self) -> Iterator[StreamView]:
        told = _told(self.session, [place.row.id for place in self._places])
        last = stream_pages.evidence_records(self.session, StreamEvidence.id.in_([one.last for one in told.values()]))
        shares = {self.now.escalation.number: weights_of(self.now.escalation.streams), 0: weights_of(self.now.streams)}
        for place in sorted(self._places, key=lambda place: (place.row.escalation, place.key)):
            state, escalation = self._state(place), place.row.escalation
            of_stream = told.get(place.row.id, _Told(0, 0, 0, 0))
            says_so = self._drifted is not None or state.value >= DRIFT_AT
            yield StreamView(
                state=state,
                escalation=escalation,
                begun=place.row.begun,
                weight=shares[escalation][place.key],
                rounds=of_stream.rounds,
                answers=of_stream.answers,
                tokens=of_stream.tokens,
                last=last.get(of_stream.last),
                onset=self._onsets.get(place.row.id) if says_so else None,
            )

    def _state(self, place: Place) -> StreamState:
        streams = self.now.escalation.streams if place.row.escalation else self.now.streams
        return streams[place.key]

    def _onset(self, place: Place) -> Onset | None:
        state = self._state(place)
        levels, process = levels_of(state), state.process
        if levels is None:
            return None
        if isinstance(process, CountStream):
            return count_onset(_tallies(self._said(place, state, None), process.asked), levels.hourly)
        if not isinstance(process, ScoreStream):
            return None
        # What the levels were taken from is no part of what is bet on.
        after = process.baseline[1] if process.baseline is not None else None
        return onset(_rounds(self._said(place, state, after)), levels.hourly)

    def _said(self, place: Place, state: StreamState, after: float | None) -> Iterator[tuple[float, Statement]]:
        """What a stream was told in its epoch up to its proof, in order: the rounds that counted, as it counts them."""
        query = select(StreamEvidence.at, StreamEvidence.says).where(StreamEvidence.stream_epoch_id == place.row.id)
        until = self._proof(place, state)
        if until is not None:
            query = query.where(StreamEvidence.sequence <= until)
        last = float("-inf") if after is None else after
        for at, said in self.session.execute(query.order_by(StreamEvidence.sequence)):
            says = statement(said)
            if isinstance(says, Scores | Counts) and at > last:
                yield at, says
                last = at

    def _proof(self, place: Place, state: StreamState) -> int | None:
        """The last evidence that tells when it began: that of the endpoint's proof, or else of the stream's own."""
        if self._drifted is not None:
            at_proof = select(EndpointLook.sequence).where(EndpointLook.id == self._drifted.id)
            return self.session.scalars(at_proof).one()
        if state.value < DRIFT_AT:
            return None
        first = select(func.min(StreamEvidence.sequence)).where(
            StreamEvidence.stream_epoch_id == place.row.id, StreamEvidence.value >= DRIFT_AT
        )
        return self.session.scalars(first).one()


def _told(session: Session, stream_epoch_ids: Collection[int]) -> dict[int, _Told]:
    rows = session.execute(
        select(
            StreamEvidence.stream_epoch_id,
            func.count(),
            func.sum(StreamEvidence.n),
            func.sum(StreamEvidence.tokens),
            func.max(StreamEvidence.id),
        )
        .where(StreamEvidence.stream_epoch_id.in_(stream_epoch_ids))
        .group_by(StreamEvidence.stream_epoch_id)
    )
    return {row[0]: _Told(row[1], int(row[2]), int(row[3]), row[4]) for row in rows}


def _rounds(said: Iterable[tuple[float, Statement]]) -> list[Round]:
    return [Round(at, says.mean) for at, says in said if isinstance(says, Scores)]


def _tallies(said: Iterable[tuple[float, Statement]], asked: str) -> list[Tally]:
    """Of all cases of each round that asked the same, those that were broken before among them."""
    counts = [(at, says) for at, says in said if isinstance(says, Counts) and says.asked == asked]
    return [Tally(at, sum(share for _, share in says.bad), says.of) for at, says in counts]


class StreamViews:
    """Every method is one transaction that only reads."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def view(self, endpoint_id: str) -> EndpointView | None:
        """None where no epoch is open."""
        with self._sessions.read() as session:
            found = OpenEpoch.of(session, endpoint_id)
            return None if found is None else found.view()

    def path(self, endpoint_id: str, span: Span) -> StreamPath:
        with self._sessions.read() as session:
            return stream_pages.path(session, endpoint_id, span)

    def looks(self, wanted: LookFilter, window: Window) -> Page[LookRecord]:
        with self._sessions.read() as session:
            return stream_pages.looks(session, wanted, window)

    def epochs(self, endpoint_id: str, window: Window) -> Page[EpochRecord]:
        with self._sessions.read() as session:
            return stream_pages.epochs(session, endpoint_id, window)

    def evidence(self, wanted: StreamEvidenceFilter, window: Window) -> Page[StreamEvidenceRecord]:
        with self._sessions.read() as session:
            return stream_pages.evidence(session, wanted, window)

    def worths(self) -> list[EndpointWorth]:
        with self._sessions.read() as session:
            return worths(session)
