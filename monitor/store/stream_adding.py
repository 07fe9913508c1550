"""A run's evidence added to its endpoint's streams: folded, looked at and stored, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.drift.begun import Begun
from monitor.drift.endpoint_streams import EndpointStreams, Look
from monitor.drift.evidence import Evidence, StreamKey
from monitor.drift.streams import Closing, StreamState
from monitor.errors import EvidenceRefusedError, StateVersionError, UsageError
from monitor.store.baselines import hold
from monitor.store.stream_codec import digest, encode_state
from monitor.store.stream_epochs import expire
from monitor.store.stream_evidence import cleaned, plain
from monitor.store.stream_records import Added
from monitor.store.stream_replay import derive_anew
from monitor.store.stream_rows import (
    Beginning,
    begin,
    end_escalations,
    key_of,
    last_sequence,
    look_row,
    looked_values,
    open_epoch,
    places,
    save_state,
    stored,
)
from monitor.store.tables import EndpointEpoch, Run, Stream, StreamEvidence
from monitor.store.text import foreign_text
from monitor.store.vocabulary import LookKind

_LONGEST_OUR_SIDE = 400


@dataclass(frozen=True, slots=True)
class _Side:
    """Where evidence is added: to an endpoint's streams, or to those of its open escalation."""

    streams: Callable[[EndpointStreams], Mapping[StreamKey, StreamState]]
    after: Callable[[EndpointStreams, Evidence], EndpointStreams]
    escalation: Callable[[EndpointStreams], int]


_STREAMS = _Side(lambda now: now.streams, EndpointStreams.after, lambda _: 0)
_ESCALATION = _Side(
    lambda now: now.escalation.streams, EndpointStreams.after_escalated, lambda now: now.escalation.number
)


def add(
    session: Session, run_id: str, evidence: Sequence[Evidence], *, stack: str, our_side: str | None, at: datetime
) -> Added:
    """Add what a run says of its endpoint's streams, and look.

    stack: the digest of what made the evidence; our_side: why our own side is taken to have moved. What a run said of a
    stream counts once, whatever comes later. An epoch whose time is over at `at` is followed by the next one first.

    Raises UsageError where there is no such run, EvidenceRefusedError where no epoch is open, or the open one is of
    another stack or does not watch the stream.
    """
    return _added(session, run_id, evidence, _STREAMS, stack, our_side, at)


def add_escalated(
    session: Session, run_id: str, evidence: Sequence[Evidence], *, stack: str, our_side: str | None, at: datetime
) -> Added:
    """The same for the open escalation, whose answers no stream has seen."""
    return _added(session, run_id, evidence, _ESCALATION, stack, our_side, at)


def close_escalation(session: Session, endpoint_id: str, at: datetime) -> EndpointStreams:
    """The open escalation's answers are all in. Raises EvidenceRefusedError where none is open."""
    hold(session, endpoint_id)
    epoch = open_epoch(session, endpoint_id)
    before = _current(session, epoch)
    if not before.escalation.streams:
        raise EvidenceRefusedError(
            f"No escalation of endpoint {endpoint_id} is open.", remedy="A suspicion opens the next one."
        )
    after = before.without_escalation()
    if after.escalation.streams:
        return before
    found = Look(before.average, before.escalation.value, before.worth, ())
    _save_look(session, epoch, LookKind.CLOSED, found, after, None, None, at)
    end_escalations(session, epoch, at)
    return after


def _added(
    session: Session,
    run_id: str,
    evidence: Sequence[Evidence],
    side: _Side,
    stack: str,
    our_side: str | None,
    at: datetime,
) -> Added:
    endpoint_id = _held_endpoint(session, run_id)
    fresh = _fresh(session, run_id, endpoint_id, evidence)
    epoch = open_epoch(session, endpoint_id)
    now = _current(session, epoch)
    if not fresh:
        return Added((), now, ())
    ended = now.ended(at.timestamp(), stack)
    if ended is Closing.OUR_STACK:
        raise EvidenceRefusedError(
            f"Evidence of stack {stack} cannot be added to epoch {epoch.number} of stack {epoch.stack}.",
            remedy="Close the epoch with its baseline scored anew by the new stack.",
        )
    if ended is Closing.EXPIRED:
        now = expire(session, endpoint_id, at)
        epoch = open_epoch(session, endpoint_id)
    now, sequences = _fold(session, epoch, now, run_id, fresh, side, at)
    our_side = foreign_text(our_side, _LONGEST_OUR_SIDE)
    after, found = now.looked(at.timestamp(), our_side)
    _save_look(session, epoch, LookKind.LOOKED, found, after, run_id, our_side, at)
    if after.escalation.number > now.escalation.number:
        begun = [Beginning(Begun.NEW, state) for state in after.escalation.streams.values()]
        begin(session, epoch, after.escalation.number, begun, at)
    return Added(tuple(sequences), after, found.events)


def _held_endpoint(session: Session, run_id: str) -> str:
    """The run's endpoint, of which nobody else adds evidence now. The run comes first, as where it is finished: who
    holds it waits for the endpoint, and would be waited for."""
    held = select(Run.endpoint_id).where(Run.id == run_id).with_for_update(read=True, key_share=True)
    endpoint_id = session.scalars(held).one_or_none()
    if endpoint_id is None:
        raise UsageError(f"There is no run {run_id}.", remedy="`monitor history --provider … --json` shows the ids.")
    hold(session, endpoint_id)
    return endpoint_id


def _fresh(session: Session, run_id: str, endpoint_id: str, evidence: Sequence[Evidence]) -> list[Evidence]:
    """What the run has not said yet of a stream."""
    keys = [one.stream for one in evidence]
    if any(key.endpoint != endpoint_id for key in keys) or len(set(keys)) < len(keys):
        raise EvidenceRefusedError(
            f"Run {run_id} of endpoint {endpoint_id} says something of another one's streams, or twice of one.",
            remedy="Give one piece of evidence for each of the endpoint's streams.",
        )
    said = session.scalars(
        select(Stream)
        .join(StreamEvidence, StreamEvidence.stream_id == Stream.id)
        .where(StreamEvidence.run_id == run_id)
    )
    known = {key_of(stream) for stream in said}
    return [cleaned(one) for one in evidence if one.stream not in known]


def _fold(
    session: Session,
    epoch: EndpointEpoch,
    now: EndpointStreams,
    run_id: str,
    fresh: Sequence[Evidence],
    side: _Side,
    at: datetime,
) -> tuple[EndpointStreams, list[int]]:
    escalation = side.escalation(now)
    rows = {place.key: place.row for place in places(session, epoch.id) if place.row.escalation == escalation}
    sequences = []
    for sequence, one in enumerate(fresh, last_sequence(session, epoch.endpoint_id) + 1):
        now = _after(now, one, side)
        state, row = side.streams(now)[one.stream], rows[one.stream]
        text = encode_state(state)
        save_state(session, row.id, sequence, state, text)
        session.add(
            StreamEvidence(
                endpoint_id=epoch.endpoint_id,
                sequence=sequence,
                stream_id=row.stream_id,
                stream_epoch_id=row.id,
                run_id=run_id,
                at=one.at,
                says=plain(one.says),
                n=one.n,
                tokens=one.tokens,
                reasons=list(one.reasons),
                added_at=at,
                value=state.value,
                state_sha256=digest(text),
            )
        )
        sequences.append(sequence)
    session.flush()
    return now, sequences


def _after(now: EndpointStreams, evidence: Evidence, side: _Side) -> EndpointStreams:
    key = evidence.stream
    if key not in side.streams(now):
        where = "its open escalation" if side is _ESCALATION else f"epoch {now.epoch.number}"
        raise EvidenceRefusedError(
            f"{key.tier.value} {key.probe_set} is not among the streams of {where}.",
            remedy="What is watched changes with the next epoch: open it with this stream.",
        )
    try:
        return side.after(now, evidence)
    except ValueError as error:
        raise EvidenceRefusedError(
            f"{key.tier.value} {key.probe_set} was given evidence of another kind: {error}.",
            remedy="A stream takes one kind of evidence; give another probe set for another kind.",
        ) from error


def _save_look(
    session: Session,
    epoch: EndpointEpoch,
    kind: LookKind,
    found: Look,
    after: EndpointStreams,
    run_id: str | None,
    our_side: str | None,
    at: datetime,
) -> None:
    row = look_row(epoch, kind, at, last_sequence(session, epoch.endpoint_id))
    row.run_id, row.our_side = run_id, our_side
    for name, value in looked_values(found, after.state).items():
        setattr(row, name, value)
    session.add(row)
    session.flush()


def _current(session: Session, epoch: EndpointEpoch) -> EndpointStreams:
    """What the open epoch came to; states of another form are written anew."""
    try:
        return stored(session, epoch)
    except StateVersionError:
        return derive_anew(session, epoch)
