"""Epochs of an endpoint's streams computed anew from stored facts: evidence, baselines and looks, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.drift.endpoint_streams import EndpointStreams, Look, opening
from monitor.drift.evidence import StreamKey
from monitor.drift.streams import StreamState
from monitor.errors import ReplayDiffersError, StateVersionError
from monitor.store.stream_codec import decode_state, rule_of, unpack_rounds
from monitor.store.stream_evidence import evidence_of
from monitor.store.stream_rows import Place, epoch_of, places, planned, states_of, stored
from monitor.store.tables import EndpointEpoch, EndpointLook, StreamEpoch, StreamEvidence
from monitor.store.vocabulary import LookKind


class Fed(NamedTuple):
    """One piece of evidence, and what came of it."""

    row: StreamEvidence
    place: Place
    state: StreamState
    streams: EndpointStreams


class Looked(NamedTuple):
    """One look, and what came of it."""

    row: EndpointLook
    found: Look
    streams: EndpointStreams


Step = Fed | Looked


@dataclass(frozen=True)
class Recorded:
    """An epoch's facts as they are stored, in the order in which they came."""

    session: Session
    epoch: EndpointEpoch

    @cached_property
    def places(self) -> Mapping[int, Place]:
        return {place.row.id: place for place in places(self.session, self.epoch.id)}

    @cached_property
    def evidence(self) -> Sequence[StreamEvidence]:
        return self.session.scalars(
            select(StreamEvidence)
            .join(StreamEpoch, StreamEpoch.id == StreamEvidence.stream_epoch_id)
            .where(StreamEpoch.epoch_id == self.epoch.id)
            .order_by(StreamEvidence.sequence)
        ).all()

    @cached_property
    def looks(self) -> Sequence[EndpointLook]:
        return self.session.scalars(
            select(EndpointLook).where(EndpointLook.epoch_id == self.epoch.id).order_by(EndpointLook.id)
        ).all()

    def opened(self) -> EndpointStreams:
        """As it was before any evidence."""
        epoch = epoch_of(self.epoch)
        before = _Before(self.session, self.epoch)
        begun = []
        for row, key in self.places.values():
            if row.escalation == 0:
                baseline = None if row.baseline is None else unpack_rounds(row.baseline)
                new = StreamState(key, rule_of(row.rule), epoch)
                begun.append(opening(row.begun, new, before.state(key), baseline))
        return EndpointStreams.opened(epoch, begun, planned(self.epoch))

    def steps(self) -> Iterator[Step]:
        """Everything that came, computed anew."""
        now, waiting = self.opened(), list(reversed(self.evidence))
        for look in self.looks:
            while waiting and waiting[-1].sequence <= look.sequence:
                fed = self._fed(now, waiting.pop())
                yield fed
                now = fed.streams
            now, found = _looked(now, look)
            yield Looked(look, found, now)
        while waiting:
            fed = self._fed(now, waiting.pop())
            yield fed
            now = fed.streams

    def computed(self) -> EndpointStreams:
        """As it is after all of it."""
        now = self.opened()
        for step in self.steps():
            now = step.streams
        return now

    def _fed(self, now: EndpointStreams, row: StreamEvidence) -> Fed:
        place = self.places[row.stream_epoch_id]
        evidence = evidence_of(row, place.key)
        try:
            if place.row.escalation:
                now = now.after_escalated(evidence)
                return Fed(row, place, now.escalation.streams[place.key], now)
            now = now.after(evidence)
        except (KeyError, ValueError) as error:
            raise ReplayDiffersError(
                f"Evidence {row.sequence} does not go with what came before it: {error}.",
                remedy="Restore the database from a backup.",
            ) from error
        return Fed(row, place, now.streams[place.key], now)


def _looked(now: EndpointStreams, row: EndpointLook) -> tuple[EndpointStreams, Look]:
    if row.kind is LookKind.LOOKED:
        return now.looked(row.at.timestamp(), row.our_side)
    return now.without_escalation(), Look(now.average, now.escalation.value, now.worth, ())


@dataclass(frozen=True)
class _Before:
    """What the streams of an epoch came to in the one before it: as stored, since that may be of another stack; or
    computed anew, where it is stored in another form."""

    session: Session
    epoch: EndpointEpoch

    def state(self, key: StreamKey) -> StreamState | None:
        text = self._texts.get(key)
        if text is None:
            return None
        try:
            return decode_state(text)
        except StateVersionError:
            return self._computed.streams[key]

    @cached_property
    def _row(self) -> EndpointEpoch | None:
        return find_epoch(self.session, self.epoch.endpoint_id, self.epoch.number - 1)

    @cached_property
    def _texts(self) -> Mapping[StreamKey, str]:
        if self._row is None:
            return {}
        rows = states_of(self.session, self._row.id)
        of_streams = [place for place in places(self.session, self._row.id) if place.row.escalation == 0]
        return {place.key: rows[place.row.id].state for place in of_streams}

    @cached_property
    def _computed(self) -> EndpointStreams:
        if self._row is None:
            raise LookupError(self.epoch.number)
        return Recorded(self.session, self._row).computed()


def find_epoch(session: Session, endpoint_id: str, number: int) -> EndpointEpoch | None:
    return session.scalars(
        select(EndpointEpoch).where(EndpointEpoch.endpoint_id == endpoint_id, EndpointEpoch.number == number)
    ).one_or_none()


def current(session: Session, epoch: EndpointEpoch) -> EndpointStreams:
    """What an open epoch came to; computed anew where it is stored in another form."""
    try:
        return stored(session, epoch)
    except StateVersionError:
        return Recorded(session, epoch).computed()


@dataclass
class Followed:
    """What each stream of an epoch came to last, by its `stream_epoch`, with the sequence of its last evidence: those
    of escalations too, which are gone from the epoch's value when they are closed."""

    recorded: Recorded
    _escalated: dict[int, StreamState] = field(default_factory=dict)
    _sequences: dict[int, int] = field(default_factory=dict)

    def step(self, step: Step) -> None:
        if isinstance(step, Fed):
            self._sequences[step.place.row.id] = step.row.sequence
        open_one = step.streams.escalation
        for row, key in self.recorded.places.values():
            if row.escalation and row.escalation == open_one.number and key in open_one.streams:
                self._escalated[row.id] = open_one.streams[key]

    def last(self, final: EndpointStreams) -> Mapping[int, tuple[int, StreamState]]:
        states = {row.id: final.streams[key] for row, key in self.recorded.places.values() if row.escalation == 0}
        return {each: (self._sequences.get(each, 0), state) for each, state in {**states, **self._escalated}.items()}
